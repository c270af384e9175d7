import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { afterEach, before, beforeEach, describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry } from '../../../common/process/metrics.ts';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { type KubeApi, type KubeCall, KubeError } from '../../kube/api.ts';
import { type Authority, issueAuthority, issueServing } from '../../reports/certificates/ca.ts';
import { ask, type TestAnswer } from '../../reports/testing/https-client.ts';
import type { ServingCredentials } from './credentials.ts';
import { createSecureServer, type SecureServer, type SecureServerOptions } from './secure-server.ts';

const hour = 3_600_000;

interface ReviewBody {
  readonly spec: { readonly token?: string; readonly user?: string; readonly nonResourceAttributes?: unknown };
}

describe('the secure port', () => {
  let authority: Authority;
  let credentials: ServingCredentials;
  let clock: FakeClock;
  let calls: KubeCall[];
  let allowed: Set<string>;
  let outage: boolean;
  let problem: string | undefined;
  let server: SecureServer;
  let port: number;
  let hold: Promise<void>;

  /** Knows the tokens `of-NAME`, and who may get anything. */
  const api: KubeApi = {
    async call<T>(call: KubeCall): Promise<T> {
      calls.push(call);
      await hold;
      if (outage) throw new KubeError({ status: 0, reason: 'Unreachable', message: 'refused' });
      const { spec } = call.body as ReviewBody;
      if (call.path.endsWith('/tokenreviews')) {
        const name = /^of-(.+)$/.exec(spec.token ?? '')?.[1];
        const groups = name === 'root' ? ['system:masters'] : ['system:authenticated'];
        const status = name
          ? { authenticated: true, user: { username: name, groups } }
          : { user: {}, error: 'invalid bearer token' };
        return { status } as T;
      }
      return { status: { allowed: allowed.has(spec.user ?? '') } } as T;
    },
    watch: () => Promise.reject(new Error('nothing to watch')),
  };

  before(async () => {
    const validity = { notBefore: Date.now() - hour, notAfter: Date.now() + hour };
    authority = await issueAuthority(validity);
    credentials = await issueServing(authority, ['localhost'], validity);
  });

  beforeEach(async () => {
    clock = fakeClock();
    calls = [];
    allowed = new Set(['prometheus']);
    outage = false;
    problem = undefined;
    hold = Promise.resolve();
    port = await open({});
  });
  afterEach(() => server.close());

  async function open(changes: Partial<SecureServerOptions>): Promise<number> {
    server = createSecureServer({
      clock,
      log: silentLog,
      api,
      credentials,
      live: [{ name: 'loops', check: () => problem }],
      ready: [{ name: 'caches', check: () => 'nodes not synced' }],
      metrics: createMetricRegistry(),
      configz: () => ({ reportAddress: ':10270' }),
      reports: () => ({ lines: [] }),
      ...changes,
    });
    return server.listen({ host: '127.0.0.1', port: 0 });
  }

  const kinds = () => calls.map(({ path }) => path.slice(path.lastIndexOf('/') + 1));

  function get(path: string, token?: string, method = 'GET'): Promise<TestAnswer> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return ask({ port, ca: authority.cert, servername: 'localhost', path, method, headers });
  }

  it('serves health without authentication and without a call to the API server', async () => {
    assert.deepEqual([(await get('/livez')).text, (await get('/healthz')).status], ['ok', 200]);
    assert.match((await get('/livez?verbose')).text, /\[\+\]loops ok\nlivez check passed/);
    const ready = await get('/readyz');
    assert.deepEqual([ready.status, /nodes not synced/.test(ready.text)], [500, true]);
    problem = 'stuck';
    assert.equal((await get('/livez')).status, 500);
    assert.equal(calls.length, 0);
  });

  it('serves metrics and configuration to users that the API server allows', async () => {
    assert.equal((await get('/metrics', 'of-prometheus')).status, 200);
    assert.deepEqual((await get('/configz', 'of-prometheus')).json, { reportAddress: ':10270' });
    const review = calls.find(({ path }) => path.endsWith('/subjectaccessreviews'))?.body as ReviewBody;
    assert.deepEqual(review.spec.nonResourceAttributes, { path: '/metrics', verb: 'get' });
  });

  it('streams the reports of agents to users that may read them, and says why there are none', async () => {
    let made = 0;
    function* lines() {
      for (; made < 400; made += 1) yield `${'x'.repeat(99_999)}\n`;
    }
    await server.close();
    port = await open({ reports: () => ({ lines: lines() }) });
    assert.deepEqual([(await get('/reports', 'of-someone')).status, (await get('/reports')).status], [403, 403]);
    assert.deepEqual([(await get('/reports', 'of-prometheus', 'HEAD')).text, made], ['', 0]);
    const taken = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: 'Bearer of-prometheus' };
      const options = { host: '127.0.0.1', port, path: '/reports', headers, rejectUnauthorized: false, agent: false };
      request(options, resolve).on('error', reject).end();
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(made < 200, `${made} of 400 parts are made before the client takes them`);
    let length = 0;
    for await (const part of taken) length += part.length;
    assert.deepEqual([length, made], [40_000_000, 400]);
    await server.close();
    port = await open({ reports: () => ({ fault: 'this replica does not lead' }) });
    const none = await get('/reports', 'of-prometheus');
    assert.deepEqual([none.status, (none.json as { message: string }).message], [503, 'this replica does not lead']);
  });

  it('answers 401 to an unknown token and 403 to users without permission, as Kubernetes does', async () => {
    const unknown = await get('/metrics', 'nonsense');
    assert.deepEqual([unknown.status, (unknown.json as { reason: string }).reason], [401, 'Unauthorized']);
    const someone = await get('/metrics', 'of-someone');
    const { kind, reason, code, message } = someone.json as Record<string, unknown>;
    assert.deepEqual([someone.status, kind, reason, code], [403, 'Status', 'Forbidden', 403]);
    assert.equal(message, 'forbidden: User "someone" cannot get path "/metrics"');
    const anonymous = await get('/configz');
    assert.equal(anonymous.status, 403);
    assert.match(anonymous.text, /system:anonymous/);
  });

  it('allows system:masters without an access review', async () => {
    assert.equal((await get('/metrics', 'of-root')).status, 200);
    assert.equal(calls.length, 1);
  });

  it('caches verdicts for ten seconds', async () => {
    await get('/metrics', 'of-prometheus');
    await get('/metrics', 'of-prometheus');
    assert.equal(calls.length, 2);
    allowed.clear();
    await clock.advance(10_000);
    assert.equal((await get('/metrics', 'of-prometheus')).status, 403);
    assert.equal(calls.length, 4);
  });

  it('shares one review between equal concurrent requests', async () => {
    await Promise.all(Array.from({ length: 10 }, () => get('/metrics', 'of-prometheus')));
    assert.equal(calls.length, 2);
  });

  it('caches verdicts for the time in the flags', async () => {
    await server.close();
    port = await open({ accessTimes: { tokenMs: 1_000, authorizedMs: 3_000, unauthorizedMs: 0 } });
    await get('/metrics', 'of-prometheus');
    await clock.advance(1_000);
    await get('/metrics', 'of-prometheus');
    assert.deepEqual(kinds(), ['tokenreviews', 'subjectaccessreviews', 'tokenreviews']);
    allowed.clear();
    await clock.advance(2_000);
    assert.equal((await get('/metrics', 'of-prometheus')).status, 403);
    allowed.add('prometheus');
    assert.equal((await get('/metrics', 'of-prometheus')).status, 200);
  });

  it('limits reviews of invalid tokens, and serves trusted clients at the same time', async () => {
    assert.equal((await get('/metrics', 'of-prometheus')).status, 200);
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => get('/metrics', `random-${n}`)));
    const statuses = new Map(answers.map(({ status, headers }) => [status, headers['retry-after']]));
    assert.deepEqual([...statuses.keys()].sort(), [401, 429]);
    assert.ok(Number(statuses.get(429)) >= 1);
    assert.ok(calls.length <= 12, `${calls.length} calls`);
    await clock.advance(10_000);
    await Promise.all(Array.from({ length: 200 }, (_, n) => get('/metrics', `other-${n}`)));
    assert.equal((await get('/metrics', 'of-prometheus')).status, 200, 'known, though its verdict is too old');
    assert.ok(calls.length <= 24, `${calls.length} calls`);
  });

  it('runs at most two reviews for untrusted clients at once', async () => {
    let release = () => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const asked = Array.from({ length: 8 }, (_, n) => get('/metrics', `random-${n}`));
    while (calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal((await get('/livez')).status, 200);
    assert.equal(calls.length, 2);
    release();
    for (const { status } of await Promise.all(asked)) assert.equal(status, 401);
  });

  it('answers probes while one address holds many silent connections', async () => {
    const silent = await Promise.all(
      Array.from(
        { length: 300 },
        () =>
          new Promise<Socket>((resolve) => {
            const socket: Socket = connect({ host: '127.0.0.1', port }, () => resolve(socket));
            socket.on('error', () => {});
          }),
      ),
    );
    for (let n = 0; n < 24; n += 1) assert.equal((await get(n % 2 === 0 ? '/livez?verbose' : '/livez')).status, 200);
    for (const socket of silent) socket.destroy();
  });

  it('answers 503 while the API server is unreachable, and tries again', async () => {
    outage = true;
    assert.equal((await get('/metrics', 'of-prometheus')).status, 503);
    outage = false;
    assert.equal((await get('/metrics', 'of-prometheus')).status, 200);
  });

  it('serves nothing else and changes nothing', async () => {
    assert.deepEqual([(await get('/')).status, (await get('/metrics/', 'of-prometheus')).status], [404, 404]);
    assert.equal((await get('/metrics', 'of-prometheus', 'DELETE')).status, 405);
    const head = await get('/livez', undefined, 'HEAD');
    assert.deepEqual([head.status, head.text], [200, '']);
  });

  it('serves a new certificate to the next connection', async () => {
    const validity = { notBefore: Date.now() - hour, notAfter: Date.now() + hour };
    const next = await issueAuthority(validity);
    server.reload(await issueServing(next, ['localhost'], validity));
    await assert.rejects(get('/livez'));
    const answer = await ask({ port, ca: next.cert, servername: 'localhost', path: '/livez' });
    assert.equal(answer.status, 200);
  });
});
