import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { startTestProxy } from '../../common/testing/test-proxy.ts';
import { type CallRecord, resourceOf } from './client.ts';
import { clientHarness, failure } from './testing/client-harness.ts';
import { fixedConnection } from './testing/fixed-connection.ts';
import { answerJson, statusObject } from './testing/test-server.ts';

describe('the client of the Kubernetes API', () => {
  const harness = clientHarness();

  it('sends the type of a patch, and its body unchanged', async () => {
    const body = { metadata: { labels: { a: null } }, spec: { taints: [{ $patch: 'replace' }], unknownField: 1 } };
    for (const [patch, type] of [
      ['merge', 'application/merge-patch+json'],
      ['strategic-merge', 'application/strategic-merge-patch+json'],
    ] as const) {
      const request = await harness.lastRequest((api) =>
        api.call({ verb: 'patch', patch, path: '/api/v1/nodes/a/status', query: { fieldManager: 'm' }, body }),
      );
      assert.equal(request.method, 'PATCH');
      assert.equal(request.url, '/api/v1/nodes/a/status?fieldManager=m');
      assert.equal(request.headers['content-type'], type);
      assert.deepEqual(JSON.parse(request.body), body);
    }
    const operations = [{ op: 'test', path: '/a', value: null }];
    const json = await harness.lastRequest((api) =>
      api.call({ verb: 'patch', patch: 'json', path: '/x', body: operations }),
    );
    assert.equal(json.headers['content-type'], 'application/json-patch+json');
    assert.deepEqual(JSON.parse(json.body), operations);
    const merge = await harness.lastRequest((api) => api.call({ verb: 'patch', path: '/x', body: {} }));
    assert.equal(merge.headers['content-type'], 'application/merge-patch+json');
  });

  it('keeps the fields of objects that it does not know', async () => {
    const node = {
      kind: 'Node',
      spec: { fieldOfTomorrow: { deep: ['ü', 1.5] } },
      metadata: { creationTimestamp: '2026-01-01T00:00:00Z' },
    };
    harness.handle = (_, response) => answerJson(response, 200, node);
    assert.deepEqual(await harness.client().call({ verb: 'get', path: '/api/v1/nodes/a' }), node);
  });

  it('passes on the time of the server from its answer, if there is one', async () => {
    const dates: number[] = [];
    const ask = (date: string) => {
      harness.handle = (_, response) => {
        response.setHeader('date', date);
        answerJson(response, 200, {});
      };
      return harness.client().call({ verb: 'get', path: '/api/v1/nodes/a', onDate: (ms) => dates.push(ms) });
    };
    await ask('Thu, 01 Jan 2026 00:00:07 GMT');
    await ask('yesterday');
    assert.deepEqual(dates, [Date.parse('2026-01-01T00:00:07Z')]);
  });

  it('sends the preconditions of a deletion as its body', async () => {
    const body = { preconditions: { uid: 'u', resourceVersion: '7' } };
    const request = await harness.lastRequest((api) => api.call({ verb: 'delete', path: '/api/v1/nodes/a', body }));
    assert.equal(request.method, 'DELETE');
    assert.equal(request.headers['content-type'], 'application/json');
    assert.deepEqual(JSON.parse(request.body), body);
  });

  it('requests only metadata where that is enough', async () => {
    const request = await harness.lastRequest((api) =>
      api.call({ verb: 'patch', path: '/api/v1/nodes/a', body: {}, answer: 'metadata' }),
    );
    assert.match(request.headers.accept ?? '', /^application\/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,/);
  });

  it('keeps the path prefix of a server behind a proxy', async () => {
    harness.handle = (_, response) => answerJson(response, 200, {});
    const config = fixedConnection({
      server: `${harness.server.url}/k8s/clusters/c-1/`,
      tls: { ca: harness.server.caPem },
    });
    await harness.client({ config }).call({ verb: 'get', path: '/api/v1/nodes' });
    assert.equal(harness.server.requests.at(-1)!.url, '/k8s/clusters/c-1/api/v1/nodes');
  });

  it('reaches a server through a proxy, the only one that knows the name of the server', async () => {
    const { port } = new URL(harness.server.url);
    const proxy = await startTestProxy(() => Number(port));
    try {
      harness.handle = (_, response) => answerJson(response, 200, { kind: 'Node' });
      const tls = { ca: harness.server.caPem, servername: 'kubernetes.default.svc' };
      const config = fixedConnection({ server: 'https://kubernetes.test:6443', tls, proxy: proxy.url });
      assert.deepEqual(await harness.client({ config }).call({ verb: 'get', path: '/api/v1/nodes/a' }), {
        kind: 'Node',
      });
      assert.deepEqual(proxy.seen, ['CONNECT kubernetes.test:6443 user:pass']);
      const distrusting = fixedConnection({ server: 'https://kubernetes.test:6443', tls: {}, proxy: proxy.url });
      const refused = await failure(harness.client({ config: distrusting }).call({ verb: 'get', path: '/readyz' }));
      assert.match(refused.message, /certificate/);
    } finally {
      proxy.close();
    }
  });

  it('reads compressed answers', async () => {
    harness.handle = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify({ kind: 'NodeList', items: ['é'] })));
    };
    assert.deepEqual(await harness.client().call({ verb: 'list', path: '/api/v1/nodes' }), {
      kind: 'NodeList',
      items: ['é'],
    });
  });

  it('records server, method, verb, resource, code and time of each call, and no path', async () => {
    const records: CallRecord[] = [];
    const clock = fakeClock();
    const api = harness.client({ clock, onCall: (record) => records.push(record) });
    harness.handle = (_, response) => answerJson(response, 200, {});
    await api.call({ verb: 'patch', path: '/api/v1/nodes/a/status', body: {} });
    harness.handle = (_, response) => answerJson(response, 404, statusObject(404, 'NotFound', 'no'));
    await failure(api.call({ verb: 'get', path: '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l' }));
    harness.handle = (_, response) => response.destroy();
    await failure(api.call({ verb: 'get', path: '/readyz' }));
    const { host } = new URL(harness.server.url);
    assert.deepEqual(records, [
      { host, method: 'PATCH', verb: 'patch', resource: 'nodes/status', code: '200', seconds: 0 },
      { host, method: 'GET', verb: 'get', resource: 'leases', code: '404', seconds: 0 },
      { host, method: 'GET', verb: 'get', resource: 'other', code: 'Unreachable', seconds: 0 },
    ]);
  });
});

describe('the resource a path names', () => {
  for (const [path, resource] of [
    ['/api/v1/nodes', 'nodes'],
    ['/api/v1/nodes/a', 'nodes'],
    ['/api/v1/nodes/a/status', 'nodes/status'],
    ['/api/v1/namespaces', 'namespaces'],
    ['/api/v1/namespaces/kube-system', 'namespaces'],
    ['/api/v1/namespaces/n/events', 'events'],
    ['/api/v1/namespaces/n/services/s/status', 'services/status'],
    ['/apis/coordination.k8s.io/v1/namespaces/n/leases/l', 'leases'],
    ['/apis/authentication.k8s.io/v1/tokenreviews', 'tokenreviews'],
    ['/readyz', 'other'],
    ['/api', 'other'],
  ] as const) {
    it(`counts ${path} as ${resource}`, () => assert.equal(resourceOf(path), resource));
  }
});
