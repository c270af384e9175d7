import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type KubeApi, type KubeCall, KubeError } from './api.ts';
import type { Leadership } from './leadership.ts';
import { leaderApi, loopApi, writeTimeoutMs } from './write-api.ts';

function recordingApi(): { readonly api: KubeApi; readonly sent: KubeCall[] } {
  const sent: KubeCall[] = [];
  const api: KubeApi = {
    async call<T>(call: KubeCall) {
      sent.push(call);
      return { metadata: { resourceVersion: '7' } } as T;
    },
    async watch() {},
  };
  return { api, sent };
}

function leadershipWith(timeLeftMs: number): Leadership {
  return {
    leading: timeLeftMs > 0,
    timeLeftMs: () => timeLeftMs,
    leaderReportUrl: () => undefined,
    annotations: () => ({}),
    annotate: async () => {},
  };
}

const read: KubeCall = { verb: 'get', path: '/api/v1/nodes/a' };
const write: KubeCall = { verb: 'patch', path: '/api/v1/nodes/a', body: { metadata: { resourceVersion: '3' } } };
const withReason = (reason: string) => (error: unknown) => error instanceof KubeError && error.reason === reason;

describe('the API of a leader', () => {
  it('gives each write a deadline shorter than the lease, and reads no deadline', async () => {
    const { api, sent } = recordingApi();
    const timeoutMs = writeTimeoutMs(15_000);
    const leading = leaderApi(api, leadershipWith(5001), timeoutMs);
    await leading.call(read);
    await leading.call(write);
    await leading.call({ ...write, timeoutMs: 60_000 });
    await leading.call({ ...write, timeoutMs: 100 });
    assert.deepEqual(
      sent.map((call) => call.timeoutMs),
      [undefined, 5000, 5000, 100],
    );
  });

  it('sends no write that may last as long as the lease does', async () => {
    const { api, sent } = recordingApi();
    const leading = leaderApi(api, leadershipWith(5000), writeTimeoutMs(15_000));
    await assert.rejects(leading.call(write), withReason('Fenced'));
    assert.deepEqual(sent, []);
  });
});

describe('a leader that releases the lease', () => {
  it('waits for the writes in progress, whether they succeed or not, and for no read', async () => {
    const answers: ((fail: boolean) => void)[] = [];
    const api: KubeApi = {
      call: <T>() =>
        new Promise<T>((resolve, reject) =>
          answers.push((fail) => (fail ? reject(new Error('cut')) : resolve({} as T))),
        ),
      async watch() {},
    };
    const leading = leaderApi(api, leadershipWith(15_000), 5000);
    await leading.settled();
    void leading.call(read);
    await leading.settled();
    const first = leading.call(write);
    const second = leading.call(write);
    let settled = false;
    const waiting = leading.settled().then(() => {
      settled = true;
    });
    answers[1]?.(false);
    await first;
    assert.equal(settled, false);
    answers[2]?.(true);
    await assert.rejects(second);
    await waiting;
    assert.equal(settled, true);
  });
});

describe('the API of the loops', () => {
  it('sends no write while everything is paused, goes on afterwards, and reads all the time', async () => {
    const { api, sent } = recordingApi();
    let paused = true;
    const loops = loopApi(api, () => paused);
    await loops.call(read);
    for (const verb of ['create', 'update', 'patch', 'delete'] as const)
      await assert.rejects(loops.call({ ...write, verb }), withReason('Withheld'));
    assert.deepEqual(
      sent.map(({ verb }) => verb),
      ['get'],
    );
    paused = false;
    await loops.call(write);
    assert.equal(sent.at(-1)?.verb, 'patch');
  });
});
