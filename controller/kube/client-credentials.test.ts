import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import type { Credentials, KubeConnection } from './connection.ts';
import { clientHarness, failure } from './testing/client-harness.ts';
import { answerJson, startTestServer, statusObject } from './testing/test-server.ts';

describe('a client with credentials that change', () => {
  const harness = clientHarness();

  function changing(current: () => Credentials, renew: () => void): KubeConnection & { asked: number } {
    return {
      server: harness.server.url,
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
    const tls = { ca: harness.server.caPem };
    let credentials = withToken('old', tls);
    const renewed = withToken('new', tls);
    const config = changing(
      () => credentials,
      () => {
        credentials = renewed;
      },
    );
    harness.handle = (request, response) => {
      const ok = request.headers.authorization === 'Bearer new';
      answerJson(response, ok ? 200 : 401, ok ? { fine: true } : statusObject(401, 'Unauthorized', 'Unauthorized'));
    };
    const before = harness.server.requests.length;
    assert.deepEqual(await harness.client({ config }).call({ verb: 'create', path: '/x', body: {} }), { fine: true });
    assert.equal(harness.server.requests.length - before, 2);
    assert.equal(config.asked, 1);
  });

  it('returns the refusal when there are no other credentials', async () => {
    const credentials = withToken('old', { ca: harness.server.caPem });
    const config = changing(
      () => credentials,
      () => {},
    );
    harness.handle = (_, response) => answerJson(response, 401, statusObject(401, 'Unauthorized', 'Unauthorized'));
    const before = harness.server.requests.length;
    const error = await failure(harness.client({ config }).call({ verb: 'get', path: '/x' }));
    assert.deepEqual([error.status, error.reason], [401, 'Unauthorized']);
    assert.equal(harness.server.requests.length - before, 1);
  });

  it('opens new connections for a new client certificate and keeps none of the old', async () => {
    const own = await startTestServer((_, response) => answerJson(response, 200, {}), { testCa: harness.ca });
    let credentials: Credentials = { headers: {}, tls: { ca: own.caPem } };
    const config: KubeConnection = { server: own.url, credentials: () => credentials };
    const api = harness.client({ config });
    await api.call({ verb: 'get', path: '/x' });
    const leaf = await harness.ca.issue({ usage: 'clientAuth', subject: 'CN=admin' });
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
    const config: KubeConnection = { server: harness.server.url, credentials: () => new Promise(() => {}) };
    const pending = failure(harness.client({ clock, config }).call({ verb: 'get', path: '/x', timeoutMs: 3_000 }));
    await clock.advance(3_000);
    assert.equal((await pending).reason, 'Timeout');
  });
});
