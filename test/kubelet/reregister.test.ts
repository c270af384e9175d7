import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { systemClock } from '../../common/process/clock.ts';
import { createLog } from '../../common/process/log.ts';
import { testCa } from '../../common/testing/certificates.ts';
import { type Access, nodeNameOf, openAccess } from '../../deploy/kubelet/reregister/access.ts';
import { parseKubeconfig } from '../../deploy/kubelet/reregister/kubeconfig.ts';
import { accessOf } from '../../deploy/kubelet/reregister/machine.ts';
import { answerOf, askForNode } from '../../deploy/kubelet/reregister/own-node.ts';
import { type ReregisterDependencies, reregister } from '../../deploy/kubelet/reregister/reregister.ts';
import {
  type Limits,
  noRestarts,
  parseRestarts,
  pauseAfter,
  printRestarts,
  reasonToWait,
} from '../../deploy/kubelet/reregister/restarts.ts';
import type { Check } from '../conformance/api-under-test.ts';
import { startEmbeddedApi } from '../conformance/embedded-api.ts';
import { folderOf } from './harness/packages.ts';
import { reregisterSuite } from './reregister.suite.ts';

const limits: Limits = {
  afterBootMs: 300_000,
  afterStartMs: 300_000,
  firstPauseMs: 300_000,
  longestPauseMs: 3_600_000,
};
const notFound = (name: string, kind = 'nodes') => ({
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  message: `${kind} "${name}" not found`,
  reason: 'NotFound',
  details: { name, kind },
  code: 404,
});

describe('what an answer about the Node proves', () => {
  const node = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'a' } };
  test('only the Status that names this Node proves it gone', () => {
    for (const [status, body, expected] of [
      [200, node, 'there'],
      [404, notFound('a'), 'gone'],
      [404, notFound('b'), 'unknown'],
      [404, notFound('a', 'pods'), 'unknown'],
      [404, { ...notFound('a'), details: {} }, 'unknown'],
      [404, { ...notFound('a'), details: undefined }, 'unknown'],
      [404, { ...notFound('a'), reason: 'Gone' }, 'unknown'],
      [410, notFound('a'), 'unknown'],
      [200, { ...node, metadata: { name: 'b' } }, 'unknown'],
      [200, {}, 'unknown'],
      [401, { ...notFound('a'), reason: 'Unauthorized' }, 'unknown'],
      [403, { ...notFound('a'), reason: 'Forbidden' }, 'unknown'],
      [429, {}, 'unknown'],
      [500, notFound('a'), 'unknown'],
      [503, {}, 'unknown'],
    ] as const) {
      assert.equal(answerOf(status, JSON.stringify(body), 'a').kind, expected, JSON.stringify([status, body]));
    }
    for (const text of ['404 page not found', '', 'null', '[]', '"x"', '<html>']) {
      assert.equal(answerOf(404, text, 'a').kind, 'unknown', text);
      assert.equal(answerOf(200, text, 'a').kind, 'unknown', text);
    }
  });
});

describe('when the kubelet may be restarted', () => {
  const running = { active: true, activeForMs: 1e9 };

  test('never before its time, and never less than the pause after the last restart', () => {
    fc.assert(
      fc.property(
        fc.nat(10_000_000),
        fc.boolean(),
        fc.nat(1_000_000),
        fc.nat(40),
        fc.nat(10_000_000),
        (uptimeMs, active, activeForMs, count, lastAtMs) => {
          const reason = reasonToWait(uptimeMs, { active, activeForMs }, { count, lastAtMs }, limits);
          const early = uptimeMs < 300_000 || !active || activeForMs < 300_000;
          const soon = count > 0 && uptimeMs - lastAtMs < pauseAfter(count, limits);
          assert.equal(reason !== undefined, early || soon);
        },
      ),
    );
  });

  test('the pause doubles from five minutes to an hour', () => {
    const minutes = [1, 2, 3, 4, 5, 6, 1000].map((count) => pauseAfter(count, limits) / 60_000);
    assert.deepEqual(minutes, [5, 10, 20, 40, 60, 60, 60]);
    assert.equal(reasonToWait(400_000, running, noRestarts, limits), undefined);
  });

  test('restarts of an earlier boot do not count, and a broken record is no record', () => {
    const text = printRestarts({ count: 3, lastAtMs: 7 }, 'boot-1');
    assert.deepEqual(parseRestarts(text, 'boot-1'), { count: 3, lastAtMs: 7 });
    assert.deepEqual(parseRestarts(text, 'boot-2'), noRestarts);
    for (const broken of ['', '{', 'null', '{}', '{"bootId":"boot-1","count":-1,"lastAtMs":0}', '{"bootId":"boot-1"}'])
      assert.throws(() => parseRestarts(broken, 'boot-1'));
  });
});

describe("the kubelet's kubeconfig", () => {
  const withUser = (user: unknown, cluster: object = {}) =>
    JSON.stringify({
      clusters: [
        { name: 'other', cluster: { server: 'https://other' } },
        { name: 'c', cluster: { server: 'https://api:6443/', 'certificate-authority': 'ca.crt', ...cluster } },
      ],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    });
  const files = { readFile: async (path: string) => `<${path}>`, execute: async () => '{}' };

  test('is read as kubeadm writes it: the certificate that the kubelet renews, by paths', async () => {
    const pem = '/var/lib/kubelet/pki/kubelet-client-current.pem';
    const parsed = parseKubeconfig(
      withUser({ 'client-certificate': pem, 'client-key': pem }),
      '/etc/kubernetes/kubelet.conf',
    );
    assert.deepEqual(await openAccess(parsed, files), {
      server: 'https://api:6443',
      ca: '</etc/kubernetes/ca.crt>',
      serverName: undefined,
      cert: `<${pem}>`,
      key: `<${pem}>`,
    });
  });

  test('may hold data, a token, a file with one, or a plugin', async () => {
    const data = Buffer.from('PEM').toString('base64');
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'aws',
      args: ['get', 'token'],
      env: [{ name: 'A', value: 'b' }],
    };
    for (const [user, expected] of [
      [
        { 'client-certificate-data': data, 'client-key-data': data },
        { cert: 'PEM', key: 'PEM' },
      ],
      [{ token: 't' }, { token: 't' }],
      [{ tokenFile: 'token' }, { token: '</k/token>' }],
      [{ exec }, { token: 'from aws get token b' }],
    ] as const) {
      const opened = await openAccess(
        parseKubeconfig(
          withUser(user, { 'certificate-authority-data': data, 'tls-server-name': 'kubernetes' }),
          '/k/config',
        ),
        {
          ...files,
          async execute(command, args, env) {
            assert.equal(JSON.parse(env['KUBERNETES_EXEC_INFO'] ?? '').apiVersion, exec.apiVersion);
            return JSON.stringify({ status: { token: `from ${command} ${args.join(' ')} ${env['A']}` } });
          },
        },
      );
      assert.deepEqual(opened, { server: 'https://api:6443', ca: 'PEM', serverName: 'kubernetes', ...expected });
    }
  });

  test('is refused where it cannot be followed, by the name of the field', async () => {
    for (const [text, message] of [
      ['a: [', /./],
      ['[]', /the file: expected a map/],
      ['{}', /current-context: missing/],
      [withUser({}), /user: expected a client certificate with its key, a token or exec/],
      [withUser({ 'client-certificate': '/x' }), /user: expected a client certificate with its key/],
      [withUser({ token: 't' }, { server: 'http://api' }), /server: "http:\/\/api", expected https/],
      [withUser({ token: 't' }, { 'insecure-skip-tls-verify': true }), /insecure-skip-tls-verify: true/],
      [withUser({ token: 't' }, { 'proxy-url': 'http://proxy' }), /proxy-url/],
      [withUser({ token: 't' }, { 'certificate-authority': '' }), /certificate-authority: missing/],
      [withUser({ token: 7 }), /token: expected a text/],
      [withUser({ exec: { args: 'x' } }), /command: missing/],
    ] as const)
      assert.throws(() => parseKubeconfig(text, '/k/config'), message, text);
    const plugin = parseKubeconfig(withUser({ exec: { command: '/bin/plugin', apiVersion: 'v1' } }), '/k/config');
    for (const printed of ['secret', '{}', '{"status":{}}', 'null']) {
      const failed = openAccess(plugin, { ...files, execute: async () => printed });
      await assert.rejects(failed, (error: Error) => /^exec: /.test(error.message) && !/secret/.test(error.message));
    }
  });

  test('a plugin that fails is told without what it printed', async (context) => {
    const folder = await folderOf(context);
    const config = withUser({
      exec: { command: '/bin/sh', args: ['-c', 'echo secret >&2; exit 3'], apiVersion: 'v1' },
    });
    await writeFile(join(folder, 'config'), config);
    await writeFile(join(folder, 'ca.crt'), '');
    await assert.rejects(accessOf([join(folder, 'config')]), (error: Error) => {
      assert.match(error.message, /config: exec: \/bin\/sh failed \(3\)/);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
    assert.equal(await accessOf(['/nonexistent/a', '/nonexistent/b']), undefined);
  });
});

describe('over TLS', async () => {
  const ca = await testCa();
  const serving = await ca.issue({ ips: ['127.0.0.1'] });
  const client = await ca.issue({ subject: 'O=system:nodes, CN=system:node:worker-1', usage: 'clientAuth' });
  const clock = systemClock();

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

  test("takes the Node's name from the kubelet's certificate, asks the cache once and then as often as told", async (context) => {
    assert.equal(nodeNameOf(client.certPem), 'worker-1');
    assert.equal(nodeNameOf(serving.certPem), undefined);
    const { asked, url } = await emptyCluster(context);
    const { events, look } = machine({
      server: url,
      ca: ca.caPem,
      serverName: undefined,
      cert: client.certPem,
      key: client.keyPem,
    });
    assert.equal(await look(), 'restarted');
    assert.deepEqual(
      asked.map(({ url: path }) => path),
      ['/api/v1/nodes/worker-1?resourceVersion=0', ...Array(3).fill('/api/v1/nodes/worker-1')],
    );
    const acts = events.filter((event) => /^(restart|count)/.test(event));
    assert.deepEqual(acts, ['count 1', 'restart']);
    assert.ok(!events.some((event) => event.includes('PRIVATE KEY')));
  });

  test('believes no server of another authority, and none that is silent, cut off or away', async (context) => {
    const stranger = await testCa('stranger');
    const { url, asked } = await emptyCluster(context);
    const access = { server: url, ca: stranger.caPem, serverName: undefined, cert: client.certPem, key: client.keyPem };
    const distrusted = machine(access);
    assert.equal(await distrusted.look(), 'unknown');
    assert.deepEqual(asked, []);
    const ask = (server: string, timeoutMs: number) =>
      askForNode({ ...access, server, ca: ca.caPem }, { name: 'worker-1', fresh: true, timeoutMs }, clock);
    assert.equal((await ask('https://127.0.0.1:1', 5000)).kind, 'unknown');
    const silent = await emptyCluster(context, (server) => server.removeAllListeners('request'));
    assert.equal((await ask(silent.url, 100)).kind, 'unknown');
    assert.ok(!distrusted.events.includes('restart'));
  });

  test('an unclear answer in a row of clear ones ends it', async (context) => {
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
      const { events, look } = machine({
        server: cluster.url,
        ca: ca.caPem,
        serverName: undefined,
        cert: client.certPem,
        key: client.keyPem,
      });
      assert.equal(await look(), 'unknown');
      assert.equal(count, unclear);
      assert.ok(!events.includes('restart'));
    }
  });

  test('leaves alone a kubelet that was restarted or stopped by somebody else in the meantime', async (context) => {
    const { url } = await emptyCluster(context);
    for (const later of [
      { active: false, activeForMs: 1e9 },
      { active: true, activeForMs: 1000 },
    ]) {
      let looks = 0;
      const { events, look } = machine(
        { server: url, ca: ca.caPem, serverName: undefined, cert: client.certPem, key: client.keyPem },
        { kubelet: async () => (++looks === 1 ? { active: true, activeForMs: 1e9 } : later) },
      );
      assert.equal(await look(), 'waiting');
      assert.ok(!events.includes('restart'));
    }
  });

  test('does not restart what it could not count', async (context) => {
    const { url } = await emptyCluster(context);
    const { events, look } = machine(
      { server: url, ca: ca.caPem, serverName: undefined, cert: client.certPem, key: client.keyPem },
      { writeRestarts: () => Promise.reject(new Error('disk full')) },
    );
    await assert.rejects(look(), /disk full/);
    assert.ok(!events.includes('restart'));
  });

  test('a credential that names no Node needs the name by flag', async () => {
    const { look } = machine({ server: 'https://127.0.0.1:1', ca: ca.caPem, serverName: undefined, token: 't' });
    await assert.rejects(look(), /--node-name: missing/);
    const other = machine({
      server: 'https://127.0.0.1:1',
      ca: ca.caPem,
      serverName: undefined,
      cert: 'junk',
      key: '',
    });
    await assert.rejects(other.look(), /client certificate: /);
    const access = {
      server: 'https://127.0.0.1:1',
      ca: ca.caPem,
      serverName: undefined,
      cert: client.certPem,
      key: '',
    };
    const { look: mistaken } = machine(access, {}, 'worker-2');
    await assert.rejects(mistaken(), /--node-name: "worker-2", but the kubelet's certificate is for worker-1/);
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
