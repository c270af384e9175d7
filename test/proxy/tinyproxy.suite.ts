import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { systemClock } from '../../common/process/clock.ts';
import { startTestProxy, type TestProxy } from '../../common/testing/test-proxy.ts';
import { type RunningCloud, startCloud } from '../kit/cloud/start-cloud.ts';
import { freePort } from '../kit/free-ports.ts';
import { type KubeApiServer, startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { createKubeRest } from '../kit/world/kube-rest.ts';
import { applyManifests } from '../kit/world/manifests.ts';
import { controllerMain } from '../kit/world/shortened.ts';

const places = { cloud: 'http://cloud.test', kube: 'https://kubernetes.test:6443' };

/**
 * No name server knows these names. The proxy under test passes everything on to a second one, which does, so that it
 * is the only way to the cloud and to the API server.
 */
describe('the controller behind tinyproxy', () => {
  const closing: (() => unknown)[] = [];
  let folder: string;
  let cloud: RunningCloud;
  let api: KubeApiServer;
  let beyond: TestProxy;
  let proxy: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-proxy-'));
    closing.push(() => rm(folder, { recursive: true, force: true }));
    cloud = await startCloud({ clock: systemClock(), random: Math.random });
    api = await startKubeApi();
    const rest = createKubeRest(api);
    await applyManifests(rest);
    rest.close();
    const ports = { cloud: Number(new URL(cloud.url).port), kube: Number(new URL(api.url).port) };
    beyond = await startTestProxy((host) => (host.startsWith('cloud.test') ? ports.cloud : ports.kube));
    closing.push(
      () => cloud.stop(),
      () => api.stop(),
      beyond.close,
    );
    proxy = await startTinyproxy(new URL(beyond.url).port);
  });
  after(async () => {
    for (const close of closing.reverse()) await close();
  });

  async function startTinyproxy(next: string): Promise<string> {
    const [port, file] = [await freePort(), join(folder, 'tinyproxy.conf')];
    const lines = ['Listen 127.0.0.1', `Port ${port}`, `LogFile "${join(folder, 'tinyproxy.log')}"`];
    await writeFile(file, [...lines, 'BasicAuth user pass', `Upstream http 127.0.0.1:${next}`, ''].join('\n'));
    const child = spawn(process.env['TINYPROXY']!, ['-d', '-c', file], { stdio: 'ignore' });
    closing.push(() => child.kill());
    for (let tries = 0; tries < 100; tries += 1) {
      const socket = connect(port, '127.0.0.1');
      const isOpen = await once(socket, 'connect').then(
        () => true,
        () => false,
      );
      socket.destroy();
      if (isOpen) return `http://user:pass@127.0.0.1:${port}`;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`tinyproxy did not start: ${await readFile(join(folder, 'tinyproxy.log'), 'utf8')}`);
  }

  async function files(proxyUrl: string | undefined): Promise<readonly string[]> {
    const [kubeconfig, cloudConfig] = [join(folder, 'kubeconfig'), join(folder, 'cloud.json')];
    const cluster = {
      server: places.kube,
      'tls-server-name': 'localhost',
      'certificate-authority-data': Buffer.from(api.caPem).toString('base64'),
      ...(proxyUrl && { 'proxy-url': proxyUrl }),
    };
    const one = { clusters: [{ name: 'c', cluster }], users: [{ name: 'u', user: { token: api.adminToken } }] };
    const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u' } }];
    await writeFile(kubeconfig, stringify({ kind: 'Config', ...one, contexts, 'current-context': 'x' }));
    const [place] = cloud.model.places.values();
    const { project, region } = place!;
    await writeFile(
      cloudConfig,
      JSON.stringify({ endpoint: places.cloud, project, region, credential: cloud.credential }),
    );
    return [`--kubeconfig=${kubeconfig}`, '--cloud-provider=simulated', `--cloud-config=${cloudConfig}`];
  }

  async function check(proxyUrl: string | undefined, env: Readonly<Record<string, string>>) {
    const args = [controllerMain, 'check', ...(await files(proxyUrl)), '-o', 'json'];
    return new Promise<{ code: unknown; output: string }>((resolve) => {
      const clean = { PATH: process.env['PATH'], HOME: folder, ...env };
      execFile(process.execPath, args, { env: clean, timeout: 60_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : error.code, output: stdout + stderr }),
      );
    });
  }

  it('reaches the cloud by HTTP_PROXY and the API server by HTTPS_PROXY', async () => {
    beyond.seen.length = 0;
    const { code, output } = await check(undefined, { HTTP_PROXY: proxy, HTTPS_PROXY: proxy });
    assert.equal(code, 0, output);
    assert.ok(beyond.seen.some((one) => one.startsWith('CONNECT kubernetes.test:6443')));
    assert.ok(beyond.seen.some((one) => one.startsWith('GET http://cloud.test')));
  });

  it('reaches the API server by the proxy-url of the kubeconfig, which wins', async () => {
    const dead = 'http://127.0.0.1:1';
    const { code, output } = await check(proxy, { HTTP_PROXY: proxy, HTTPS_PROXY: dead });
    assert.equal(code, 0, output);
  });

  it('says what failed, and no password, where the proxy refuses its credentials', async () => {
    const refused = proxy.replace('user:pass', 'user:secret');
    const { code, output } = await check(undefined, { HTTP_PROXY: refused, HTTPS_PROXY: refused });
    assert.equal(code, 1);
    assert.match(output, /40[17]/);
    assert.doesNotMatch(output, /secret/);
  });

  it('goes past the proxy for what NO_PROXY names, and then finds no such host', async () => {
    const { code, output } = await check(undefined, { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: '.test' });
    assert.equal(code, 1);
    assert.match(output, /ENOTFOUND|EAI_AGAIN|no answer/);
  });
});
