import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { systemClock } from '../../common/process/clock.ts';
import { silentLog } from '../../common/process/log.ts';
import { type TestCa, testCa } from '../../common/testing/certificates.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { type KubeApi, KubeError } from './api.ts';
import { type CallRecord, createKubeClient, resourceOf } from './client.ts';
import { type Credentials, fixedConnection, type KubeConnection } from './connection.ts';
import { maxCallSockets } from './pools.ts';
import { answerJson, type SeenRequest, startTestServer, statusObject, type TestServer } from './testing/test-server.ts';

type Handler = Parameters<typeof startTestServer>[0];

async function failure(work: Promise<unknown>): Promise<KubeError> {
  const error = await work.then(
    () => assert.fail('expected a KubeError'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof KubeError, String(error));
  return error;
}

describe('the client of the Kubernetes API', () => {
  let ca: TestCa;
  let server: TestServer;
  let handle: Handler = (_, response) => answerJson(response, 200, {});
  const closers: (() => void)[] = [];

  before(async () => {
    ca = await testCa();
    server = await startTestServer((request, response) => handle(request, response), { testCa: ca });
  });
  after(async () => {
    for (const close of closers) close();
    await server.close();
  });

  function client(options: Partial<Parameters<typeof createKubeClient>[0]> = {}): KubeApi {
    const config = fixedConnection({ server: server.url, token: 'secret-token', tls: { ca: server.caPem } });
    const made = createKubeClient({ config, clock: systemClock(), log: silentLog, ...options });
    closers.push(made.close);
    return made.api;
  }

  async function lastRequest(work: (api: KubeApi) => Promise<unknown>): Promise<SeenRequest> {
    handle = (_, response) => answerJson(response, 200, {});
    await work(client());
    return server.requests.at(-1)!;
  }

  it('makes 500 calls one after another over one connection', async () => {
    handle = (_, response) => answerJson(response, 200, { kind: 'Node' });
    const api = client();
    const before = server.connections;
    for (let i = 0; i < 500; i += 1) await api.call({ verb: 'get', path: `/api/v1/nodes/n${i}` });
    assert.equal(server.connections - before, 1);
  });

  it('makes 500 calls at once over at most 32 connections', async () => {
    const own = await startTestServer((_, response) => setImmediate(() => answerJson(response, 200, {})), {
      testCa: ca,
    });
    const api = client({ config: fixedConnection({ server: own.url, tls: { ca: own.caPem } }) });
    await Promise.all(Array.from({ length: 500 }, (_, i) => api.call({ verb: 'get', path: `/api/v1/nodes/n${i}` })));
    assert.ok(own.mostOpen <= 32, `${own.mostOpen} connections`);
    assert.equal(own.requests.length, 500);
    await own.close();
  });

  it('says which kind of patch it sends, and sends the body as it is', async () => {
    const body = { metadata: { labels: { a: null } }, spec: { taints: [{ $patch: 'replace' }], unknownField: 1 } };
    for (const [patch, type] of [
      ['merge', 'application/merge-patch+json'],
      ['strategic-merge', 'application/strategic-merge-patch+json'],
    ] as const) {
      const request = await lastRequest((api) =>
        api.call({ verb: 'patch', patch, path: '/api/v1/nodes/a/status', query: { fieldManager: 'm' }, body }),
      );
      assert.equal(request.method, 'PATCH');
      assert.equal(request.url, '/api/v1/nodes/a/status?fieldManager=m');
      assert.equal(request.headers['content-type'], type);
      assert.deepEqual(JSON.parse(request.body), body);
    }
    const operations = [{ op: 'test', path: '/a', value: null }];
    const json = await lastRequest((api) => api.call({ verb: 'patch', patch: 'json', path: '/x', body: operations }));
    assert.equal(json.headers['content-type'], 'application/json-patch+json');
    assert.deepEqual(JSON.parse(json.body), operations);
    const merge = await lastRequest((api) => api.call({ verb: 'patch', path: '/x', body: {} }));
    assert.equal(merge.headers['content-type'], 'application/merge-patch+json');
  });

  it('keeps the fields of objects that it does not know', async () => {
    const node = {
      kind: 'Node',
      spec: { fieldOfTomorrow: { deep: ['ü', 1.5] } },
      metadata: { creationTimestamp: '2026-01-01T00:00:00Z' },
    };
    handle = (_, response) => answerJson(response, 200, node);
    assert.deepEqual(await client().call({ verb: 'get', path: '/api/v1/nodes/a' }), node);
  });

  it('sends the preconditions of a deletion as its body', async () => {
    const body = { preconditions: { uid: 'u', resourceVersion: '7' } };
    const request = await lastRequest((api) => api.call({ verb: 'delete', path: '/api/v1/nodes/a', body }));
    assert.equal(request.method, 'DELETE');
    assert.equal(request.headers['content-type'], 'application/json');
    assert.deepEqual(JSON.parse(request.body), body);
  });

  it('asks for metadata alone when that is enough', async () => {
    const request = await lastRequest((api) =>
      api.call({ verb: 'patch', path: '/api/v1/nodes/a', body: {}, answer: 'metadata' }),
    );
    assert.match(request.headers.accept ?? '', /^application\/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,/);
  });

  it('keeps the path prefix of a server behind a proxy', async () => {
    handle = (_, response) => answerJson(response, 200, {});
    const config = fixedConnection({ server: `${server.url}/k8s/clusters/c-1/`, tls: { ca: server.caPem } });
    await client({ config }).call({ verb: 'get', path: '/api/v1/nodes' });
    assert.equal(server.requests.at(-1)!.url, '/k8s/clusters/c-1/api/v1/nodes');
  });

  it('turns a Status into an error with its reason', async () => {
    const message = 'Operation cannot be fulfilled on nodes "n1": the object has been modified';
    handle = (_, response) => answerJson(response, 409, statusObject(409, 'Conflict', message));
    const error = await failure(client().call({ verb: 'patch', path: '/api/v1/nodes/n1', body: {} }));
    assert.equal(error.status, 409);
    assert.equal(error.reason, 'Conflict');
    assert.ok(error.message.includes(message) && error.message.includes('PATCH /api/v1/nodes/n1'));
    assert.equal(error.retryAfterMs, undefined);
  });

  it('reads Retry-After from a 429 of plain text, in seconds or as a date, and never repeats the call', async () => {
    handle = (_, response) => {
      response.writeHead(429, { 'content-type': 'text/plain', 'retry-after': '7' });
      response.end('Too many requests, please try again later.\n');
    };
    const before = server.requests.length;
    const error = await failure(client().call({ verb: 'get', path: '/api/v1/nodes' }));
    assert.deepEqual([error.status, error.reason, error.retryAfterMs], [429, 'TooManyRequests', 7_000]);
    assert.ok(error.message.includes('Too many requests, please try again later.'));
    assert.equal(server.requests.length - before, 1);

    const clock = fakeClock(Date.parse('2026-01-01T00:00:00Z'));
    handle = (_, response) => {
      response.writeHead(503, { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' });
      response.end('<html>backend fetch failed</html>');
    };
    const late = await failure(client({ clock }).call({ verb: 'get', path: '/api/v1/nodes' }));
    assert.deepEqual([late.status, late.reason, late.retryAfterMs], [503, 'ServiceUnavailable', 30_000]);
  });

  it('reads retryAfterSeconds where there is no header', async () => {
    const status = statusObject(504, 'Timeout', 'Too large resource version', { retryAfterSeconds: 1 });
    handle = (_, response) => answerJson(response, 504, status);
    const error = await failure(client().call({ verb: 'list', path: '/api/v1/nodes' }));
    assert.deepEqual([error.status, error.reason, error.retryAfterMs], [504, 'Timeout', 1_000]);
  });

  it('reads compressed answers', async () => {
    handle = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      response.end(gzipSync(JSON.stringify({ kind: 'NodeList', items: ['é'] })));
    };
    assert.deepEqual(await client().call({ verb: 'list', path: '/api/v1/nodes' }), { kind: 'NodeList', items: ['é'] });
  });

  it('says that an answer is no JSON, broken or cut', async () => {
    handle = (_, response) => response.end('<html>login</html>');
    assert.equal((await failure(client().call({ verb: 'get', path: '/x' }))).reason, 'Unreadable');
    handle = (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end('not gzip');
    };
    assert.equal((await failure(client().call({ verb: 'get', path: '/x' }))).reason, 'Unreachable');
    handle = (_, response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"half":');
      setImmediate(() => response.destroy());
    };
    const cut = await failure(client().call({ verb: 'get', path: '/x' }));
    assert.deepEqual([cut.status, cut.reason], [0, 'Unreachable']);
  });

  it('gives up at the deadline, whether nothing or half an answer came', async () => {
    const clock = fakeClock();
    for (const start of [() => {}, (response: { write(text: string): void }) => response.write('{"half":')]) {
      handle = (_, response) => start(response);
      const before = server.requests.length;
      const pending = failure(
        client({ clock }).call({ verb: 'patch', path: '/api/v1/nodes/a', body: {}, timeoutMs: 5_000 }),
      );
      await server.seen(before + 1);
      await clock.advance(4_999);
      await clock.advance(1);
      const error = await pending;
      assert.deepEqual([error.status, error.reason], [0, 'Timeout']);
      assert.match(error.message, /PATCH \/api\/v1\/nodes\/a: no answer within 5000 ms/);
    }
    assert.equal(clock.pending, 0);
  });

  it('counts the wait for a free connection towards the deadline', async () => {
    const clock = fakeClock();
    const own = await startTestServer(() => {}, { testCa: ca });
    const api = client({ clock, config: fixedConnection({ server: own.url, tls: { ca: own.caPem } }) });
    const call = (timeoutMs: number) => failure(api.call({ verb: 'get', path: '/api/v1/nodes', timeoutMs }));
    const sent = Array.from({ length: maxCallSockets }, () => call(2_000));
    await own.seen(maxCallSockets);
    const queued = [call(1_000), call(1_000)];
    await clock.advance(1_000);
    for (const error of await Promise.all(queued)) assert.equal(error.reason, 'Timeout');
    assert.equal(own.requests.length, maxCallSockets);
    await clock.advance(1_000);
    await Promise.all(sent);
    assert.equal(own.requests.length, maxCallSockets);
    await own.close();
  });

  it('lets an urgent call pass the ones that wait', async () => {
    const own = await startTestServer(
      (request, response) => {
        if (request.path === '/urgent') answerJson(response, 200, {});
      },
      { testCa: ca },
    );
    const { api, close } = createKubeClient({
      config: fixedConnection({ server: own.url, tls: { ca: own.caPem } }),
      clock: systemClock(),
      log: silentLog,
    });
    const stuck = Array.from({ length: 40 }, () => failure(api.call({ verb: 'get', path: '/stuck' })));
    await own.seen(maxCallSockets);
    await api.call({ verb: 'update', path: '/urgent', body: {}, urgent: true });
    assert.equal(own.mostOpen, 32);
    close();
    await own.close();
    await Promise.all(stuck);
  });

  it('gives up when the caller does', async () => {
    handle = () => {};
    const giveUp = new AbortController();
    const before = server.requests.length;
    const pending = failure(client().call({ verb: 'get', path: '/x', signal: giveUp.signal }));
    await server.seen(before + 1);
    giveUp.abort(new Error('shutting down'));
    assert.equal((await pending).reason, 'Aborted');
    assert.equal((await failure(client().call({ verb: 'get', path: '/x', signal: giveUp.signal }))).reason, 'Aborted');
    assert.equal(server.requests.length, before + 1);
  });

  it('refuses a server that the CA does not know, or that has another name', async () => {
    const stranger = await testCa('stranger');
    const other = client({ config: fixedConnection({ server: server.url, tls: { ca: stranger.caPem } }) });
    assert.equal((await failure(other.call({ verb: 'get', path: '/x' }))).reason, 'Unreachable');
    const tls = { ca: server.caPem, servername: 'elsewhere.example.com' };
    const misnamed = client({ config: fixedConnection({ server: server.url, tls }) });
    assert.match((await failure(misnamed.call({ verb: 'get', path: '/x' }))).message, /elsewhere.example.com/);
    const named = client({
      config: fixedConnection({ server: server.url, tls: { ...tls, servername: 'kubernetes.default.svc' } }),
    });
    handle = (_, response) => answerJson(response, 200, {});
    await named.call({ verb: 'get', path: '/x' });
  });

  it('never follows a redirect with its token', async () => {
    handle = (_, response) => {
      response.writeHead(302, { location: `${server.url}/elsewhere` });
      response.end();
    };
    const before = server.requests.length;
    assert.equal((await failure(client().call({ verb: 'get', path: '/x' }))).status, 302);
    assert.equal(server.requests.length, before + 1);
  });

  it('names neither token nor query in errors', async () => {
    handle = (_, response) => response.destroy();
    const error = await failure(client().call({ verb: 'get', path: '/x', query: { continue: 'opaque' } }));
    assert.ok(!error.message.includes('secret-token') && !error.message.includes('opaque'));
  });

  it('records each call', async () => {
    const records: CallRecord[] = [];
    const clock = fakeClock();
    const api = client({ clock, onCall: (record) => records.push(record) });
    handle = (_, response) => answerJson(response, 200, {});
    await api.call({ verb: 'patch', path: '/api/v1/nodes/a/status', body: {} });
    handle = (_, response) => answerJson(response, 404, statusObject(404, 'NotFound', 'no'));
    await failure(api.call({ verb: 'get', path: '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l' }));
    handle = (_, response) => response.destroy();
    await failure(api.call({ verb: 'get', path: '/readyz' }));
    assert.deepEqual(records, [
      { verb: 'patch', resource: 'nodes/status', code: '200', seconds: 0 },
      { verb: 'get', resource: 'leases', code: '404', seconds: 0 },
      { verb: 'get', resource: 'other', code: 'Unreachable', seconds: 0 },
    ]);
  });

  describe('with credentials that change', () => {
    function changing(current: () => Credentials, renew: () => void): KubeConnection & { asked: number } {
      return {
        server: server.url,
        asked: 0,
        credentials(refused) {
          if (refused) {
            this.asked += 1;
            renew();
          }
          return current();
        },
      };
    }
    const withToken = (token: string, tls: Credentials['tls']): Credentials => ({
      headers: { authorization: `Bearer ${token}` },
      tls,
    });

    it('repeats a refused call once with the renewed token', async () => {
      const tls = { ca: server.caPem };
      let credentials = withToken('old', tls);
      const renewed = withToken('new', tls);
      const config = changing(
        () => credentials,
        () => {
          credentials = renewed;
        },
      );
      handle = (request, response) => {
        const ok = request.headers.authorization === 'Bearer new';
        answerJson(response, ok ? 200 : 401, ok ? { fine: true } : statusObject(401, 'Unauthorized', 'Unauthorized'));
      };
      const before = server.requests.length;
      assert.deepEqual(await client({ config }).call({ verb: 'create', path: '/x', body: {} }), { fine: true });
      assert.equal(server.requests.length - before, 2);
      assert.equal(config.asked, 1);
    });

    it('lets a refusal stand when there are no other credentials', async () => {
      const credentials = withToken('old', { ca: server.caPem });
      const config = changing(
        () => credentials,
        () => {},
      );
      handle = (_, response) => answerJson(response, 401, statusObject(401, 'Unauthorized', 'Unauthorized'));
      const before = server.requests.length;
      const error = await failure(client({ config }).call({ verb: 'get', path: '/x' }));
      assert.deepEqual([error.status, error.reason], [401, 'Unauthorized']);
      assert.equal(server.requests.length - before, 1);
    });

    it('opens new connections for a new client certificate and keeps none of the old', async () => {
      const own = await startTestServer((_, response) => answerJson(response, 200, {}), { testCa: ca });
      let credentials: Credentials = { headers: {}, tls: { ca: own.caPem } };
      const config: KubeConnection = { server: own.url, credentials: () => credentials };
      const api = client({ config });
      await api.call({ verb: 'get', path: '/x' });
      const leaf = await ca.issue({ usage: 'clientAuth', subject: 'CN=admin' });
      credentials = { headers: {}, tls: { ca: own.caPem, cert: leaf.certPem, key: leaf.keyPem } };
      await api.call({ verb: 'get', path: '/x' });
      await api.call({ verb: 'get', path: '/x' });
      assert.deepEqual(
        own.requests.map((request) => request.connection),
        [1, 2, 2],
      );
      await own.close();
    });

    it('waits for credentials no longer than the call may take', async () => {
      const clock = fakeClock();
      const config: KubeConnection = { server: server.url, credentials: () => new Promise(() => {}) };
      const pending = failure(client({ clock, config }).call({ verb: 'get', path: '/x', timeoutMs: 3_000 }));
      await clock.advance(3_000);
      assert.equal((await pending).reason, 'Timeout');
    });
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
    it(`of ${path} is ${resource}`, () => assert.equal(resourceOf(path), resource));
  }
});
