import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { at, type JsonObject, listOf, textOf } from './json.ts';
import { type KubeApiServer, startKubeApi } from './start-kube-api.ts';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

async function serve(t: TestContext) {
  const api = await startKubeApi();
  const agent = new Agent({ keepAlive: true, ca: api.caPem });
  t.after(async () => {
    agent.destroy();
    await api.stop();
  });
  const options = (method: string, headers: Record<string, string>): RequestOptions => ({
    agent,
    method,
    headers: { authorization: `Bearer ${api.adminToken}`, ...headers },
  });
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const call = request(`${api.url}${path}`, options(method, headers), (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }),
        );
        response.on('error', reject);
      });
      call.on('error', reject);
      call.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
    });
  return { api, agent, ask, options };
}

function configMap(name: string, size: number) {
  return { metadata: { name }, data: { x: 'x'.repeat(size) } };
}

const configMaps = '/api/v1/namespaces/default/configmaps';

test('the certificate is valid for localhost and the in-cluster name, by the given CA alone', async (t) => {
  const { api, ask } = await serve(t);
  assert.equal((await ask('GET', '/readyz')).body.toString(), 'ok');
  const { port } = new URL(api.url);
  const status = (servername: string) =>
    new Promise<number>((resolve, reject) => {
      const call = request(
        { host: '127.0.0.1', port, path: '/readyz', servername, ca: api.caPem, agent: false },
        (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        },
      );
      call.on('error', reject);
      call.end();
    });
  assert.deepEqual(await Promise.all(['localhost', 'kubernetes.default.svc'].map(status)), [200, 200]);
  await assert.rejects(status('example.com'), /ERR_TLS_CERT_ALTNAME_INVALID|does not match/);
});

test('large answers are compressed for clients that accept it', async (t) => {
  const { ask } = await serve(t);
  await ask('POST', configMaps, configMap('a', 200_000));
  const packed = await ask('GET', configMaps, undefined, { 'accept-encoding': 'gzip' });
  assert.deepEqual([packed.headers['content-encoding'], packed.headers['vary']], ['gzip', 'Accept-Encoding']);
  const plain = await ask('GET', configMaps);
  assert.equal(plain.headers['content-encoding'], undefined);
  assert.deepEqual(gunzipSync(packed.body), plain.body);
  const small = await ask('GET', '/version', undefined, { 'accept-encoding': 'gzip' });
  assert.equal(small.headers['content-encoding'], undefined);
});

test('a body over the limit is refused and the connection stays usable', async (t) => {
  const { ask, api } = await serve(t);
  assert.equal((await ask('POST', configMaps, configMap('a', 4_000_000))).status, 413);
  assert.equal((await ask('GET', configMaps)).status, 200);
  assert.equal(api.connections, 1);
});

test('a watch streams lines, ends when the reader leaves, and is cut when the server stops', async (t) => {
  const { api, ask, options } = await serve(t);
  const open = () =>
    new Promise<{ lines: AsyncIterator<string>; leave: () => void; broken: Promise<unknown> }>((resolve, reject) => {
      const call = request(
        `${api.url}${configMaps}?watch=1&resourceVersion=${api.core.store.revision}`,
        options('GET', {}),
      );
      call.on('error', () => {});
      call.on('response', (response) => {
        assert.equal(response.headers['transfer-encoding'], 'chunked');
        const broken = new Promise((done) => response.once('error', done).once('close', done));
        const lines = createInterface({ input: response })[Symbol.asyncIterator]();
        resolve({ lines, broken, leave: () => call.destroy() });
      });
      call.once('error', reject);
      call.end();
    });
  const first = await open();
  await ask('POST', configMaps, configMap('a', 10));
  const event = JSON.parse(String((await first.lines.next()).value)) as JsonObject;
  assert.deepEqual([event['type'], at(event, 'object', 'kind')], ['ADDED', 'ConfigMap']);
  first.leave();
  while (api.core.openWatches > 0) await new Promise((resolve) => setImmediate(resolve));
  const second = await open();
  assert.equal(api.core.openWatches, 1);
  await api.stop();
  await second.broken;
});

test('warnings travel as headers, faults as broken connections', async (t) => {
  const { api, ask } = await serve(t);
  const warned = await ask('POST', configMaps, { ...configMap('a', 1), bogus: 1 });
  assert.equal(warned.headers['warning'], '299 - "unknown field \\"bogus\\""');
  api.core.faults.add({ match: { verb: 'list' }, effect: { kind: 'drop' }, times: 1 });
  await assert.rejects(ask('GET', configMaps), /ECONNRESET|socket hang up/);
  assert.equal((await ask('GET', configMaps)).status, 200);
});

test('kubeconfigs name server, CA, token and namespace, and are private', async (t) => {
  const { api } = await serve(t);
  const dir = await mkdtemp(join(tmpdir(), 'kube-api-'));
  t.after(() => rm(dir, { recursive: true }));
  const path = join(dir, 'kubeconfig');
  await api.writeKubeconfig(path, 'a-token');
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const config = parse(await readFile(path, 'utf8')) as JsonObject;
  assert.equal(at(listOf(config['users'])[0], 'user', 'token'), 'a-token');
  const cluster = at(listOf(config['clusters'])[0], 'cluster');
  assert.equal(at(cluster, 'server'), api.url);
  assert.equal(Buffer.from(textOf(at(cluster, 'certificate-authority-data')), 'base64').toString(), api.caPem);
});

test('CA and kubeconfig lie in the given folder from the start', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'kube-api-'));
  const api: KubeApiServer = await startKubeApi({ dir });
  t.after(async () => {
    await api.stop();
    await rm(dir, { recursive: true });
  });
  assert.equal(await readFile(join(dir, 'ca.crt'), 'utf8'), api.caPem);
  assert.equal(await readFile(join(dir, 'kubeconfig'), 'utf8'), api.kubeconfig());
});
