import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { stringify } from 'yaml';
import { silentLog } from '../common/process/log.ts';
import { fakeClock } from '../common/testing/fake-clock.ts';
import { type KubeConfigOptions, loadKubeConnection } from '../controller/kube/kube-config.ts';
import { bundlePackage } from './bundle.ts';
import { leftOutOfAgent, leftOutOfController, packagesOnDemand } from './left-out.ts';

describe('a kubeconfig read by the bundle', () => {
  let folder = '';
  let bundled: typeof loadKubeConnection;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-left-out-'));
    const outfile = join(folder, 'kube-config.cjs');
    await build({
      entryPoints: ['controller/kube/kube-config.ts'],
      absWorkingDir: join(import.meta.dirname, '..'),
      outfile,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      logLevel: 'warning',
      supported: { 'dynamic-import': false },
      plugins: [...leftOutOfController],
    });
    for (const name of packagesOnDemand.keys()) await bundlePackage(name, join(folder, `packages/${name}.cjs`));
    bundled = createRequire(import.meta.url)(outfile).loadKubeConnection;
    await writeFile(join(folder, 'token'), 'of a file\n');
    await writeFile(join(folder, 'client.crt'), 'CERT PEM');
    await writeFile(join(folder, 'client.key'), 'KEY PEM');
  });
  after(() => rm(folder, { recursive: true }));

  async function kubeconfig(user: object, cluster: object = {}): Promise<string> {
    const file = join(folder, 'config');
    const document = {
      clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    await writeFile(file, stringify(document));
    return file;
  }

  async function read(load: typeof loadKubeConnection, options: Partial<KubeConfigOptions>) {
    const { server, credentials } = await load({ clock: fakeClock(), log: silentLog, env: {}, ...options });
    return { server, credentials: await credentials() };
  }

  const echo = (value: object) => ({ command: '/bin/echo', args: [JSON.stringify(value)] });
  const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential' };
  const gcloud = { credential: { access_token: 'of gcloud', token_expiry: '2100-01-01T00:00:00Z' } };
  const users: Readonly<Record<string, object>> = {
    'a token': { token: 'abc' },
    'name and password': { username: 'me', password: 'pw' },
    impersonation: { token: 'abc', as: 'jane' },
    'a token file': { tokenFile: 'token' },
    'a client certificate': { 'client-certificate': 'client.crt', 'client-key': 'client.key' },
    'an exec plugin': {
      exec: {
        apiVersion: credential.apiVersion,
        interactiveMode: 'Never',
        ...echo({ ...credential, status: { token: 'of a plugin' } }),
      },
    },
    "gcloud's provider": {
      'auth-provider': {
        name: 'gcp',
        config: {
          'cmd-path': '/bin/echo',
          'cmd-args': `'${JSON.stringify(gcloud)}'`,
          'token-key': '{.credential.access_token}',
          'expiry-key': '{.credential.token_expiry}',
          expiry: '2000-01-01T00:00:00Z',
        },
      },
    },
  };
  for (const [name, user] of Object.entries(users)) {
    test(`reads a kubeconfig with ${name} as it does unbundled`, async () => {
      const options = {
        kubeconfig: await kubeconfig(user, {
          'certificate-authority-data': 'Q0EgUEVN',
          'tls-server-name': 'kubernetes',
        }),
      };
      const found = await read(bundled, options);
      assert.deepEqual(found, await read(loadKubeConnection, options));
      assert.notDeepEqual([found.credentials.headers, found.credentials.tls.cert], [{}, undefined]);
    });
  }

  test('reads the connection of a Pod as it does unbundled', async () => {
    const account = join(folder, 'var/run/secrets/kubernetes.io/serviceaccount');
    await mkdir(account, { recursive: true });
    await writeFile(join(account, 'token'), 'of the Pod');
    await writeFile(join(account, 'ca.crt'), 'CA PEM');
    const options = {
      rootPrefix: folder,
      env: { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' },
    };
    const found = await read(bundled, options);
    assert.deepEqual(found, await read(loadKubeConnection, options));
    assert.equal(found.credentials.headers['authorization'], 'Bearer of the Pod');
  });

  test('takes a token that is still good without a call to its identity provider', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = [part({ alg: 'none' }), part({ exp: 4_102_444_800 }), 'signature'].join('.');
    const config = { 'idp-issuer-url': 'https://issuer.example', 'client-id': 'id', 'id-token': token };
    const options = { kubeconfig: await kubeconfig({ 'auth-provider': { name: 'oidc', config } }) };
    const { headers } = (await read(bundled, options)).credentials;
    assert.equal(headers['authorization'], `Bearer ${token}`);
  });
});

test('both bundles have what the metrics need of prom-client', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-metrics-'));
  for (const [name, plugins] of Object.entries({ agent: leftOutOfAgent, controller: leftOutOfController })) {
    const outfile = join(folder, `${name}.cjs`);
    await build({
      entryPoints: ['common/process/metrics.ts'],
      absWorkingDir: join(import.meta.dirname, '..'),
      outfile,
      bundle: true,
      platform: 'node',
      format: 'cjs',
      logLevel: 'warning',
      plugins: [...plugins],
    });
    const metrics = createRequire(import.meta.url)(outfile);
    const registry = metrics.createMetricRegistry(metrics.createStandardMetrics());
    registry.define({ x: { name: 'x_seconds', type: 'histogram', help: 'X.', buckets: [1] } }).x.observe(2);
    assert.match(await registry.text(), /^x_seconds_count 1$[\s\S]*^process_resident_memory_bytes \d+$/m);
  }
  await rm(folder, { recursive: true });
});
