import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { stringify } from 'yaml';
import { systemClock } from '../../common/process/clock.ts';
import { createLog, silentLog } from '../../common/process/log.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createKubeClient } from './client.ts';
import { type KubeConfigOptions, loadKubeConnection } from './kube-config.ts';
import { answerJson, startTestServer, statusObject } from './testing/test-server.ts';

describe('the connection of a kubeconfig', () => {
  let folder = '';

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-kube-config-'));
  });
  after(() => rm(folder, { recursive: true }));

  const file = (name: string) => join(folder, name);

  async function kubeconfig(
    name: string,
    user: Readonly<Record<string, unknown>>,
    cluster: Readonly<Record<string, unknown>> = {},
  ): Promise<string> {
    const document = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    };
    await writeFile(file(name), stringify(document));
    return file(name);
  }

  function load(options: Partial<KubeConfigOptions>) {
    return loadKubeConnection({ clock: fakeClock(), log: silentLog, env: {}, ...options });
  }

  it('reads the server, the CA, the certificate and the server name', async () => {
    const ca = Buffer.from('CA PEM').toString('base64');
    await writeFile(file('client.crt'), 'CERT PEM');
    await writeFile(file('client.key'), 'KEY PEM');
    const path = await kubeconfig(
      'certificate',
      { 'client-certificate': 'client.crt', 'client-key': file('client.key') },
      {
        'certificate-authority-data': ca,
        'tls-server-name': 'kubernetes',
        server: 'https://example.com/k8s/clusters/1/',
      },
    );
    const connection = await load({ kubeconfig: path });
    const { headers, tls } = await connection.credentials();
    assert.equal(connection.server, 'https://example.com/k8s/clusters/1');
    assert.deepEqual(headers, {});
    assert.equal(String(tls.ca), 'CA PEM');
    assert.equal(String(tls.cert), 'CERT PEM');
    assert.equal(String(tls.key), 'KEY PEM');
    assert.equal(tls.servername, 'kubernetes');
    assert.equal(tls.rejectUnauthorized, undefined);
  });

  for (const [name, user, expected] of [
    ['a token', { token: 'abc' }, { authorization: 'Bearer abc' }],
    [
      'name and password',
      { username: 'me', password: 'pw' },
      { authorization: `Basic ${Buffer.from('me:pw').toString('base64')}` },
    ],
    ['impersonation', { token: 'abc', as: 'jane' }, { authorization: 'Bearer abc', 'impersonate-user': 'jane' }],
  ] as const) {
    it(`authenticates with ${name}`, async () => {
      const connection = await load({ kubeconfig: await kubeconfig('plain', user) });
      assert.deepEqual((await connection.credentials()).headers, expected);
    });
  }

  it('reads a token file, relative to the kubeconfig, and again every minute', async () => {
    await writeFile(file('token'), 'first\n');
    const clock = fakeClock();
    const connection = await load({ clock, kubeconfig: await kubeconfig('token-file', { tokenFile: 'token' }) });
    const first = await connection.credentials();
    assert.equal(first.headers['authorization'], 'Bearer first');
    await writeFile(file('token'), 'second');
    await clock.advance(59_000);
    assert.equal(await connection.credentials(), first);
    await clock.advance(1_000);
    const second = await connection.credentials();
    assert.equal(second.headers['authorization'], 'Bearer second');
    assert.equal(second.tls, first.tls, 'the connections stay');
    await clock.advance(60_000);
    assert.equal(await connection.credentials(), second, 'nothing changed');
  });

  it('reads refused credentials again at once, but not for each of many refusals', async () => {
    await writeFile(file('refused'), 'first');
    const clock = fakeClock();
    const connection = await load({ clock, kubeconfig: await kubeconfig('refused-config', { tokenFile: 'refused' }) });
    const first = await connection.credentials();
    await clock.advance(5_000);
    await writeFile(file('refused'), 'second');
    const [second, other] = await Promise.all([connection.credentials(first), connection.credentials(first)]);
    assert.equal(second?.headers['authorization'], 'Bearer second');
    assert.equal(second, other);
    assert.equal(await connection.credentials(first), second, 'a late refusal of the old ones renews nothing');
    await writeFile(file('refused'), 'third');
    assert.equal(await connection.credentials(second), second);
    await clock.advance(5_000);
    assert.equal((await connection.credentials(second)).headers['authorization'], 'Bearer third');
  });

  it('names the line of invalid YAML, and never its content', async () => {
    const secret = 'precious';
    const clock = fakeClock();
    const lines: string[] = [];
    const log = createLog({ clock, level: 'debug', format: 'text', write: (line) => lines.push(line) });
    const path = await kubeconfig('torn', { token: secret });
    const connection = await load({ clock, log, kubeconfig: path });
    for (const [text, line] of [
      [`users:\n- name: u\n  user:\n    token: ${secret}\n   bad\n`, 5],
      [`token: *${secret}\n`, 1],
      [`a: {${secret}: [\n`, 2],
    ] as const) {
      await writeFile(path, text);
      await assert.rejects(load({ kubeconfig: path }), (error: Error) => {
        assert.equal(error.message, `kubeconfig ${path}: line ${line}: not valid YAML`);
        assert.equal(error.cause, undefined);
        return true;
      });
      await clock.advance(60_000);
      await connection.credentials();
    }
    assert.match(lines.join(''), /cannot renew the credentials .*not valid YAML/);
    assert.ok(!lines.join('').includes(secret), lines.join(''));
  });

  it('keeps its credentials while a file is missing, and logs that without content', async () => {
    await writeFile(file('gone'), 'precious');
    const clock = fakeClock();
    const lines: string[] = [];
    const log = createLog({ clock, level: 'debug', format: 'text', write: (line) => lines.push(line) });
    const connection = await load({ clock, log, kubeconfig: await kubeconfig('gone-config', { tokenFile: 'gone' }) });
    const before = await connection.credentials();
    await rm(file('gone'));
    await clock.advance(60_000);
    assert.equal(await connection.credentials(), before);
    assert.match(lines.join(''), /cannot renew the credentials .*there is no such file/);
    assert.ok(!lines.join('').includes('precious'));
  });

  it('keeps its token while the file is empty, and reads it again soon', async () => {
    await writeFile(file('emptied'), 'first');
    const clock = fakeClock();
    const connection = await load({ clock, kubeconfig: await kubeconfig('emptied-config', { tokenFile: 'emptied' }) });
    const first = await connection.credentials();
    await writeFile(file('emptied'), '');
    await clock.advance(60_000);
    assert.equal(await connection.credentials(), first);
    await writeFile(file('emptied'), 'second');
    await clock.advance(5_000);
    assert.equal((await connection.credentials()).headers['authorization'], 'Bearer second');
  });

  it('keeps its context when the current one of the file changes', async () => {
    const both = ['a', 'b'];
    const document = (current: string) => ({
      clusters: both.map((name) => ({ name, cluster: { server: `https://${name}.example.com` } })),
      users: [
        { name: 'a', user: { tokenFile: 'of-a' } },
        { name: 'b', user: { tokenFile: 'absent' } },
      ],
      contexts: both.map((name) => ({ name, context: { cluster: name, user: name } })),
      'current-context': current,
    });
    await writeFile(file('of-a'), 'first of a');
    await writeFile(file('switched'), stringify(document('a')));
    const clock = fakeClock();
    const connection = await load({ clock, kubeconfig: file('switched') });
    await writeFile(file('of-a'), 'second of a');
    await writeFile(file('switched'), stringify(document('b')));
    await clock.advance(60_000);
    assert.equal(connection.server, 'https://a.example.com');
    assert.deepEqual((await connection.credentials()).headers, { authorization: 'Bearer second of a' });
  });

  it('finds the API server of a Pod, also by IPv6', async () => {
    const root = join(folder, 'pod');
    const account = join(root, 'var/run/secrets/kubernetes.io/serviceaccount');
    await mkdir(account, { recursive: true });
    await writeFile(join(account, 'token'), 'pod-token');
    await writeFile(join(account, 'ca.crt'), 'POD CA');
    await writeFile(join(account, 'namespace'), 'mooring');
    const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' };
    const clock = fakeClock();
    const connection = await load({ clock, env, rootPrefix: root });
    assert.equal(connection.server, 'https://[fd00::1]:443');
    assert.equal(connection.podNamespace, 'mooring');
    assert.equal((await load({ kubeconfig: await kubeconfig('outside', {}) })).podNamespace, undefined);
    const { headers, tls } = await connection.credentials();
    assert.deepEqual(headers, { authorization: 'Bearer pod-token' });
    assert.equal(String(tls.ca), 'POD CA');
    await writeFile(join(account, 'token'), '');
    await clock.advance(60_000);
    assert.deepEqual((await connection.credentials()).headers, headers);
    await writeFile(join(account, 'token'), 'next');
    await clock.advance(5_000);
    assert.deepEqual((await connection.credentials()).headers, { authorization: 'Bearer next' });
  });

  it('finds the kubeconfig as kubectl finds it', async () => {
    const home = join(folder, 'home');
    await mkdir(join(home, '.kube'), { recursive: true });
    const token = async (env: Record<string, string>, given?: string) => {
      const connection = await load({ env, ...(given !== undefined && { kubeconfig: given }), rootPrefix: folder });
      return (await connection.credentials()).headers['authorization'];
    };
    const [one, two] = [await kubeconfig('one', { token: 'one' }), await kubeconfig('two', { token: 'two' })];
    await writeFile(join(home, '.kube/config'), await readFile(await kubeconfig('own', { token: 'own' })));
    assert.equal(await token({ HOME: home }), 'Bearer own');
    assert.equal(await token({ HOME: home, KUBECONFIG: one }), 'Bearer one');
    assert.equal(await token({ HOME: home, KUBECONFIG: one }, two), 'Bearer two');
    assert.equal(await token({ KUBECONFIG: ['', file('absent'), two, one].join(':') }), 'Bearer two');
    await assert.rejects(token({ HOME: home, KUBECONFIG: file('absent') }), /KUBECONFIG is ".*absent", which names no/);
  });

  it('merges the files of KUBECONFIG', async () => {
    const [account, place] = [file('account'), file('place')];
    await writeFile(file('account-token'), 'of a file');
    const users = [
      { name: 'u', user: { tokenFile: 'account-token' } },
      { name: 'other', user: { tokenFile: 'absent' } },
    ];
    await writeFile(account, stringify({ users }));
    const clusters = [{ name: 'c', cluster: { server: 'https://10.0.0.1:6443' } }];
    const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u' } }];
    await writeFile(place, stringify({ clusters, contexts, 'current-context': 'x' }));
    const connection = await load({ env: { KUBECONFIG: `${account}:${place}` } });
    assert.deepEqual((await connection.credentials()).headers, { authorization: 'Bearer of a file' });
  });

  it('names the fault of an unusable configuration', async () => {
    await assert.rejects(load({}), /KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set/);
    await assert.rejects(load({ kubeconfig: file('nowhere') }), /kubeconfig .*nowhere: there is no such file/);
    await writeFile(file('empty'), stringify({ clusters: [], users: [], contexts: [], 'current-context': 'prod' }));
    await assert.rejects(load({ kubeconfig: file('empty') }), /current-context "prod" names no context/);
    await assert.rejects(load({ kubeconfig: file('empty'), context: 'dev' }), /context "dev" names no context/);
    await writeFile(
      file('half'),
      stringify({ contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }], 'current-context': 'x' }),
    );
    await assert.rejects(load({ kubeconfig: file('half') }), /names cluster "c", which is not there/);
    const noUrl = await kubeconfig('no-url', {}, { server: '10.0.0.1:6443' });
    await assert.rejects(
      load({ kubeconfig: noUrl }),
      /server of cluster "c" is "10.0.0.1:6443", expected an https:\/\/ URL/,
    );
    const plain = await kubeconfig('plain', {}, { server: 'http://10.0.0.1:8080' });
    await assert.rejects(
      load({ kubeconfig: plain }),
      /kubeconfig .*plain: server of cluster "c" is "http:\/\/10.0.0.1:8080", expected an https:\/\/ URL/,
    );
    const proxy = await kubeconfig('proxy', {}, { 'proxy-url': 'socks5://proxy:1080' });
    await assert.rejects(load({ kubeconfig: proxy }), /proxy-url of cluster "c": expected the http:\/\/ or https:\/\//);
  });

  it('uses the proxy of the kubeconfig, or else that of the environment', async () => {
    const env = { HTTPS_PROXY: 'http://other:3128' };
    const own = await kubeconfig('own-proxy', {}, { 'proxy-url': 'http://proxy:3128' });
    assert.equal((await load({ kubeconfig: own, env })).proxy, 'http://proxy:3128/');
    const none = await kubeconfig('no-proxy', {});
    assert.equal((await load({ kubeconfig: none, env })).proxy, 'http://other:3128/');
    assert.equal((await load({ kubeconfig: none, env: { ...env, NO_PROXY: '10.0.0.0/8' } })).proxy, undefined);
  });

  it('completes a call whose token was replaced on disk', async () => {
    let valid = 'first';
    const server = await startTestServer((request, response) => {
      const ok = request.headers.authorization === `Bearer ${valid}`;
      answerJson(response, ok ? 200 : 401, ok ? { kind: 'Node' } : statusObject(401, 'Unauthorized', 'Unauthorized'));
    });
    await writeFile(file('live'), 'first');
    const ca = Buffer.from(server.caPem).toString('base64');
    const path = await kubeconfig(
      'live-config',
      { tokenFile: 'live' },
      { server: server.url, 'certificate-authority-data': ca },
    );
    const real = systemClock();
    let skewMs = 0;
    const clock = { ...real, monotonic: () => real.monotonic() + skewMs };
    const { api, close } = createKubeClient({ config: await load({ clock, kubeconfig: path }), clock, log: silentLog });
    await api.call({ verb: 'get', path: '/api/v1/nodes/a' });
    valid = 'second';
    await writeFile(file('live'), 'second');
    skewMs = 6_000;
    await api.call({ verb: 'get', path: '/api/v1/nodes/a' });
    assert.deepEqual(
      server.requests.map((request) => request.connection),
      [1, 1, 1],
    );
    close();
    await server.close();
  });
});
