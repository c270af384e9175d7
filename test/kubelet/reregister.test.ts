import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { systemClock } from '../../common/process/clock.ts';
import { createLog } from '../../common/process/log.ts';
import { testCa } from '../../common/testing/certificates.ts';
import { type Access, nodeNameOf } from '../../deploy/kubelet/reregister/access.ts';
import { askForNode } from '../../deploy/kubelet/reregister/own-node.ts';
import { type ReregisterDependencies, reregister } from '../../deploy/kubelet/reregister/reregister.ts';
import { noRestarts } from '../../deploy/kubelet/reregister/restarts.ts';
import type { Check } from '../conformance/api-under-test.ts';
import { startEmbeddedApi } from '../conformance/embedded-api.ts';
import { limits, notFound } from './harness/reregister-examples.ts';
import { reregisterSuite } from './reregister.suite.ts';

describe('reregister.cjs over TLS', async () => {
  const ca = await testCa();
  const serving = await ca.issue({ ips: ['127.0.0.1'] });
  const client = await ca.issue({ subject: 'O=system:nodes, CN=system:node:worker-1', usage: 'clientAuth' });
  const clock = systemClock();
  /** As the kubelet of `worker-1`. */
  const accessTo = (server: string) => ({
    server,
    ca: ca.caPem,
    serverName: undefined,
    cert: client.certPem,
    key: client.keyPem,
  });

  /** An API server that knows the client by its certificate and has no Nodes. */
  async function emptyCluster(context: TestContext, respond?: (server: Server) => void) {
    const asked: { url: string | undefined; user: string | undefined }[] = [];
    const server = createServer(
      { cert: serving.certPem, key: serving.keyPem, ca: ca.caPem, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        const socket = request.socket as TLSSocket;
        const user = socket.authorized ? String(socket.getPeerCertificate().subject.CN) : undefined;
        asked.push({ url: request.url, user });
        const name = decodeURIComponent(/^\/api\/v1\/nodes\/([^?]+)/.exec(request.url ?? '')?.[1] ?? '');
        const allowed = user === `system:node:${name}`;
        const body = allowed ? notFound(name) : { kind: 'Status', reason: 'Unauthorized', code: 401 };
        response.writeHead(allowed ? 404 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      },
    );
    respond?.(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    context.after(() => {
      server.closeAllConnections();
      server.close();
    });
    return { asked, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` };
  }

  function machine(access: Access | undefined, change: Partial<ReregisterDependencies> = {}, nodeName?: string) {
    const events: string[] = [];
    const dependencies: ReregisterDependencies = {
      clock,
      log: createLog({ clock, level: 'debug', format: 'text', write: (line) => events.push(line) }),
      signal: new AbortController().signal,
      kubelet: async () => ({ active: true, activeForMs: 1e9 }),
      restart: async () => void events.push('restart'),
      access: async () => access,
      readRestarts: async () => noRestarts,
      writeRestarts: async ({ count }) => void events.push(`count ${count}`),
      ...change,
    };
    const options = {
      ...limits,
      afterBootMs: 0,
      nodeName,
      answers: 3,
      intervalMs: 1,
      requestTimeoutMs: 5000,
    };
    return { events, look: () => reregister(options, dependencies) };
  }

  test("takes the Node's name from the certificate, and reads a cached answer before the real one", async (context) => {
    assert.equal(nodeNameOf(client.certPem), 'worker-1');
    assert.equal(nodeNameOf(serving.certPem), undefined);
    const { asked, url } = await emptyCluster(context);
    const { events, look } = machine(accessTo(url));
    assert.equal(await look(), 'restarted');
    assert.deepEqual(
      asked.map(({ url: path }) => path),
      ['/api/v1/nodes/worker-1?resourceVersion=0', ...Array(3).fill('/api/v1/nodes/worker-1')],
    );
    const acts = events.filter((event) => /^(restart|count)/.test(event));
    assert.deepEqual(acts, ['count 1', 'restart']);
    assert.ok(!events.some((event) => event.includes('PRIVATE KEY')));
  });

  test('trusts no server of another authority, and none that is silent, cut off or away', async (context) => {
    const stranger = await testCa('stranger');
    const { url, asked } = await emptyCluster(context);
    const distrusted = machine({ ...accessTo(url), ca: stranger.caPem });
    assert.equal(await distrusted.look(), 'unknown');
    assert.deepEqual(asked, []);
    const ask = (server: string, timeoutMs: number) =>
      askForNode(accessTo(server), { name: 'worker-1', fresh: true, timeoutMs }, clock);
    assert.equal((await ask('https://127.0.0.1:1', 5000)).kind, 'unknown');
    const silent = await emptyCluster(context, (server) => server.removeAllListeners('request'));
    assert.equal((await ask(silent.url, 100)).kind, 'unknown');
    assert.ok(!distrusted.events.includes('restart'));
  });

  test('starts over after an unclear answer among clear ones', async (context) => {
    for (const unclear of [1, 2, 3, 4]) {
      let count = 0;
      const cluster = await emptyCluster(context, (server) => {
        const [answer] = server.listeners('request') as ((...args: unknown[]) => void)[];
        server.removeAllListeners('request');
        server.on('request', (request, response) => {
          count += 1;
          if (count === unclear) request.socket.destroy();
          else answer?.(request, response);
        });
      });
      const { events, look } = machine(accessTo(cluster.url));
      assert.equal(await look(), 'unknown');
      assert.equal(count, unclear);
      assert.ok(!events.includes('restart'));
    }
  });

  test('leaves a kubelet alone that was restarted or stopped by others meanwhile', async (context) => {
    const { url } = await emptyCluster(context);
    for (const later of [
      { active: false, activeForMs: 1e9 },
      { active: true, activeForMs: 1000 },
    ]) {
      let looks = 0;
      const { events, look } = machine(accessTo(url), {
        kubelet: async () => (++looks === 1 ? { active: true, activeForMs: 1e9 } : later),
      });
      assert.equal(await look(), 'waiting');
      assert.ok(!events.includes('restart'));
    }
  });

  test('leaves a kubelet alone when it cannot count the restart', async (context) => {
    const { url } = await emptyCluster(context);
    const { events, look } = machine(accessTo(url), { writeRestarts: () => Promise.reject(new Error('disk full')) });
    await assert.rejects(look(), /disk full/);
    assert.ok(!events.includes('restart'));
  });

  test('needs the name by flag with a credential that names no Node', async () => {
    const { server, ca: caPem, serverName, cert, key } = accessTo('https://127.0.0.1:1');
    const nameless = machine({ server, ca: caPem, serverName, token: 't' });
    await assert.rejects(nameless.look(), /--node-name: missing/);
    const broken = machine({ server, ca: caPem, serverName, cert: 'junk', key });
    await assert.rejects(broken.look(), /client certificate: /);
    const mistaken = machine({ server, ca: caPem, serverName, cert, key }, {}, 'worker-2');
    await assert.rejects(mistaken.look(), /--node-name: "worker-2", but the kubelet's certificate is for worker-1/);
  });
});

describe('reregister.cjs on the embedded Kubernetes API', () => {
  test('reregister', async (context) => {
    const api = await startEmbeddedApi();
    const check: Check = async (name, body) => {
      await context.test(name, body);
    };
    try {
      await reregisterSuite.run(api, check);
    } finally {
      await api.stop();
    }
  });
});
