import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { createLog } from '../../common/process/log.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { KubeError } from '../kube/api.ts';
import { workQueueHarness } from './testing/work-queue-harness.ts';

describe('a work queue whose runs fail', () => {
  it('repeats failed keys with back-off per key, which a success resets', async () => {
    let fail = true;
    const times: number[] = [];
    const { clock, queue, begun } = workQueueHarness(
      async (key, at) => {
        if (key === 'good') return;
        times.push(at.monotonic());
        if (fail) throw new Error('no');
      },
      { backoff: { firstMs: 1_000, maxMs: 8_000 }, random: () => 0.5 },
    );
    queue.start();
    queue.enqueue('bad');
    await clock.advance(31_000);
    assert.deepEqual(times, [0, 1_000, 3_000, 7_000, 15_000, 23_000, 31_000]);
    queue.enqueue('good');
    await clock.advance(0);
    assert.equal(begun.at(-1), 'good');
    fail = false;
    await clock.advance(8_000);
    fail = true;
    times.length = 0;
    queue.enqueue('bad');
    await clock.advance(1_000);
    assert.equal(times.length, 2);
    await queue.stop();
  });

  it('warns of the first failure, unless another client wrote first', async () => {
    const lines: string[] = [];
    const log = createLog({ clock: fakeClock(), level: 'info', format: 'json', write: (line) => lines.push(line) });
    const conflict = new KubeError({ status: 409, reason: 'Conflict', message: 'changed' });
    const { clock, queue } = workQueueHarness(
      async (key) => {
        throw key === 'raced' ? conflict : new Error('no');
      },
      { log, backoff: { firstMs: 1_000, maxMs: 1_000 } },
    );
    queue.start();
    for (const key of ['raced', 'bad']) queue.enqueue(key);
    await clock.advance(0);
    const levels = lines.map((line) => JSON.parse(line)).map(({ level, key }) => `${level} ${key}`);
    assert.deepEqual(levels, ['info raced', 'warn bad']);
    await queue.stop();
  });

  it('forgets the failures of a key when told to', async () => {
    const times: number[] = [];
    const { clock, queue } = workQueueHarness(
      async (_, at) => {
        times.push(at.monotonic());
        throw new Error('no');
      },
      { backoff: { firstMs: 1_000, maxMs: 100_000 }, random: () => 0.5 },
    );
    queue.start();
    queue.enqueue('a');
    await clock.advance(7_000);
    queue.forget('a');
    await clock.advance(8_000);
    await clock.advance(1_000);
    assert.deepEqual(times, [0, 1_000, 3_000, 7_000, 15_000, 16_000]);
    await queue.stop();
  });

  for (const [name, error] of [
    ['KubeError', new KubeError({ status: 429, reason: 'TooManyRequests', message: 'busy', retryAfterMs: 30_000 })],
    [
      'CloudError',
      new CloudError({ kind: 'Throttled', cloud: 'aws', operation: 'X', message: 'busy', retryAfterMs: 30_000 }),
    ],
  ] as const) {
    it(`waits at least as long as a ${name} asks`, async () => {
      const { clock, queue, begun } = workQueueHarness(async () => {
        throw error;
      });
      queue.start();
      queue.enqueue('a');
      await clock.advance(29_999);
      assert.equal(begun.length, 1);
      await clock.advance(1);
      assert.equal(begun.length, 2);
      await queue.stop();
    });
  }

  it('runs a failed key at once when it changes', async () => {
    const { clock, queue, begun } = workQueueHarness(
      async () => {
        throw new Error('no');
      },
      { backoff: { firstMs: 60_000, maxMs: 60_000 } },
    );
    queue.start();
    queue.enqueue('a');
    await clock.advance(1_000);
    queue.enqueue('a');
    await clock.advance(0);
    assert.equal(begun.length, 2);
    await queue.stop();
  });

  it('survives a reconcile that throws at once', async () => {
    const { clock, queue, begun } = workQueueHarness(() => {
      throw new Error('not even a promise');
    });
    queue.start();
    queue.enqueue('a');
    await clock.advance(2_000);
    assert.ok(begun.length > 1);
    await queue.stop();
  });
});
