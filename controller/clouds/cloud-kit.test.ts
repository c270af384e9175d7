import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HttpRequest } from '../../common/process/http.ts';
import { silentLog } from '../../common/process/log.ts';
import { advanceDuring, fakeClock } from '../../common/testing/fake-clock.ts';
import { type CloudCall, type CloudContext, refKey } from './cloud.ts';
import { createCloudKit } from './cloud-kit.ts';
import type { Seen } from './out-of-tree.ts';

describe('the kit of a cloud that is no part of Mooring', () => {
  const clock = fakeClock();
  const calls: CloudCall[] = [];
  const context: CloudContext = {
    clock,
    random: () => 0.5,
    log: silentLog,
    env: {},
    onCall: (call) => calls.push(call),
  };
  const options = { endpoint: 'http://api.test/v1', authorization: 'Bearer x', callsPerSecond: 10, burst: 10 };

  /** An API that answers this to everything. */
  function apiOf(status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
    const requests: HttpRequest[] = [];
    const kit = createCloudKit('example', () => async (request) => {
      requests.push(request);
      return { status, text, header: (name) => headers[name] ?? null };
    });
    return { kit, requests, api: kit.jsonApi(context, options) };
  }

  it('provides an API that sends the credential, counts calls and reads fields', async () => {
    const { kit, api, requests } = apiOf(200, '{"server":{"id":"a"}}');
    const answer = await api.call({ path: '/servers/7' });
    assert.equal(answer.object('server').text('id'), 'a');
    assert.deepEqual(
      requests.map(({ url, headers, timeoutMs }) => [url, headers?.['authorization'], timeoutMs]),
      [['http://api.test/v1/servers/7', 'Bearer x', 15_000]],
    );
    assert.deepEqual(calls.splice(0), [{ cloud: 'example', operation: 'GET /servers/{id}', code: 'ok', seconds: 0 }]);
    await assert.rejects(
      api.call({ path: '/' }).then((one) => one.text('name')),
      (error) => {
        assert.equal(kit.kindOf(error), 'Invalid');
        return true;
      },
    );
    api.close();
  });

  for (const [what, status, text, kind] of [
    ['an answer of the API that something is not there', 404, '{"error":"no server"}', 'NotFound'],
    ["a proxy's page", 404, '<html>not found</html>', 'Unavailable'],
    ['a refused credential', 401, '', 'Unauthorized'],
    ['too many calls', 429, '', 'Throttled'],
    ['a body that was cut', 200, '{"server":', 'Unavailable'],
  ] as const)
    it(`takes ${what} for ${kind}`, async () => {
      const { kit, api } = apiOf(status, text, { 'retry-after': '30' });
      await assert.rejects(api.call({ path: '/servers' }), (error) => {
        assert.equal(kit.kindOf(error), kind);
        if (kind === 'Throttled') assert.equal((error as { retryAfterMs?: number }).retryAfterMs, 30_000);
        return true;
      });
    });

  it('tells the kind of its own errors alone', () => {
    const kit = createCloudKit('example');
    assert.equal(kit.kindOf(kit.error({ kind: 'Busy', operation: 'x', message: '' })), 'Busy');
    assert.equal(kit.kindOf(new Error('no')), undefined);
    assert.equal(kit.instanceIdOf(kit.providerIDOf('a/b')), 'a/b');
    assert.equal(kit.instanceIdOf('aws:///z/i-1'), undefined);
    assert.throws(() => kit.providerIDOf('a b'), RangeError);
  });

  it('lists instances and proves absence by a request for the id', async () => {
    const kit = createCloudKit('example');
    const there: Seen = {
      state: 'found',
      power: 'running',
      request: 'list',
      instance: { cloud: 'example', id: '1', name: 'one', providerID: 'example://1', addresses: [] },
    };
    const asked: string[] = [];
    const { lookup } = kit.instances(() => [
      {
        holds: () => true,
        all: async () => new Map([['1', there]]),
        named: async () => [there],
        async get(id) {
          asked.push(id);
          throw kit.error({ kind: id === '2' ? 'NotFound' : 'Unavailable', operation: 'get', message: id });
        },
      },
    ]);
    const refs = ['1', '2', '3', '4'].map((id) => ({ by: 'providerID', providerID: `example://${id}` }) as const);
    const names = ['one', 'two'].map((name) => ({ by: 'name', name }) as const);
    const foreign = { by: 'providerID', providerID: 'aws:///z/i-1' } as const;
    const answers = await advanceDuring(clock, lookup([...refs, ...names, foreign]));
    const states = [...refs, ...names, foreign].map((ref) => answers.get(refKey(ref))?.state);
    assert.deepEqual(states, ['found', 'absent', 'unknown', 'unknown', 'found', 'unknown', 'unknown']);
    assert.deepEqual(asked, ['2', '3', '4']);
  });
});
