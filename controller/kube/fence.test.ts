import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KubeApi, type KubeCall, KubeError, type KubeVerb } from './api.ts';
import { fencedApi, withholdingApi } from './fence.ts';

function recordingApi(): { readonly api: KubeApi; readonly sent: KubeCall[] } {
  const sent: KubeCall[] = [];
  const api: KubeApi = {
    async call<T>(call: KubeCall) {
      sent.push(call);
      return { fine: true } as T;
    },
    async watch() {},
  };
  return { api, sent };
}

async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'sent';
  } catch (error) {
    assert.ok(error instanceof KubeError);
    assert.equal(error.status, 0);
    return error.reason;
  }
}

describe('a fenced API', () => {
  const writes: readonly KubeVerb[] = ['create', 'update', 'patch', 'delete'];

  for (const [left, timeoutMs, expected] of [
    [10_001, undefined, 'sent'],
    [10_000, undefined, 'Fenced'],
    [9_000, 5_000, 'sent'],
    [5_000, 5_000, 'Fenced'],
    [0, 1, 'Fenced'],
    [-5, 1, 'Fenced'],
    [Number.POSITIVE_INFINITY, 60_000, 'sent'],
  ] as const) {
    it(`a write with ${left} ms of lease left and timeout ${timeoutMs ?? 'default'} ends as ${expected}`, async () => {
      for (const verb of writes) {
        const { api, sent } = recordingApi();
        const call = { verb, path: '/api/v1/nodes/a', ...(timeoutMs === undefined ? {} : { timeoutMs }) };
        assert.equal(await reasonOf(fencedApi(api, { timeLeftMs: () => left }).call(call)), expected);
        assert.deepEqual(sent, expected === 'sent' ? [call] : []);
      }
    });
  }

  it('passes reads on standbys too', async () => {
    const { api, sent } = recordingApi();
    const fenced = fencedApi(api, { timeLeftMs: () => 0 });
    await fenced.call({ verb: 'get', path: '/x' });
    await fenced.call({ verb: 'list', path: '/x' });
    await fenced.watch({ path: '/x', query: {}, signal: new AbortController().signal, onEvent() {} });
    assert.equal(sent.length, 2);
  });
});

describe('a withholding API', () => {
  it('lets reads pass and refuses writes with the reason given', async () => {
    const { api, sent } = recordingApi();
    let paused = true;
    const gated = withholdingApi(api, {
      allowed: (call) => (paused && call.path.endsWith('/a') ? 'paused by a person' : true),
    });
    await gated.call({ verb: 'get', path: '/api/v1/nodes/a' });
    const refused = gated.call({ verb: 'delete', path: '/api/v1/nodes/a' });
    await assert.rejects(refused, /delete \/api\/v1\/nodes\/a was not sent: paused by a person/);
    assert.equal(await reasonOf(gated.call({ verb: 'patch', path: '/api/v1/nodes/a' })), 'Withheld');
    assert.equal(await reasonOf(gated.call({ verb: 'patch', path: '/api/v1/nodes/b' })), 'sent');
    paused = false;
    assert.equal(await reasonOf(gated.call({ verb: 'patch', path: '/api/v1/nodes/a' })), 'sent');
    assert.deepEqual(
      sent.map((call) => call.verb),
      ['get', 'patch', 'patch'],
    );
  });
});
