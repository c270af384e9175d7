import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CloudError } from '../common/cloud-error.ts';
import { sleep } from '../common/process/clock.ts';
import { silentLog } from '../common/process/log.ts';
import { seededRandom } from '../common/process/random.ts';
import { type FakeClock, fakeClock } from '../common/testing/fake-clock.ts';
import { KubeError } from './kube/api.ts';
import { createReconciler, type Reconciler, type ReconcilerOptions } from './reconciler.ts';

interface Stand {
  readonly clock: FakeClock;
  readonly reconciler: Reconciler;
  /** Keys in the order in which they were begun. */
  readonly begun: string[];
}

function stand(
  reconcile: (
    key: string,
    clock: FakeClock,
    signal: AbortSignal,
  ) => ReturnType<ReconcilerOptions['reconcile']> = async () => {},
  options: Partial<ReconcilerOptions> = {},
): Stand {
  const clock = fakeClock();
  const begun: string[] = [];
  const reconciler = createReconciler({
    name: 'nodes',
    clock,
    random: seededRandom(1),
    log: silentLog,
    concurrency: 1,
    reconcile(key, signal) {
      begun.push(key);
      return reconcile(key, clock, signal);
    },
    ...options,
  });
  return { clock, reconciler, begun };
}

describe('a reconciler', () => {
  it('begins nothing before it is started, and no run within enqueue', async () => {
    const { clock, reconciler, begun } = stand();
    reconciler.enqueue('a');
    await clock.advance(1_000);
    assert.deepEqual(begun, []);
    reconciler.start();
    reconciler.enqueue('b');
    assert.deepEqual(begun, []);
    await clock.advance(0);
    assert.deepEqual(begun, ['a', 'b']);
    await reconciler.stop();
  });

  it('runs a key once, however often it was asked for while it waited', async () => {
    const { clock, reconciler, begun } = stand();
    reconciler.start();
    for (let i = 0; i < 5; i += 1) reconciler.enqueue('a');
    await clock.advance(0);
    assert.deepEqual(begun, ['a']);
    await reconciler.stop();
  });

  it('runs a key again that was asked for while it ran, and only one run of it at a time', async () => {
    const { clock, reconciler, begun } = stand((_, at) => sleep(at, 100), { concurrency: 4 });
    reconciler.start();
    reconciler.enqueue('a');
    await clock.advance(50);
    reconciler.enqueue('a');
    reconciler.enqueue('a', { afterMs: 10_000 });
    await clock.advance(49);
    assert.deepEqual(begun, ['a']);
    await clock.advance(1);
    assert.deepEqual(begun, ['a', 'a']);
    await clock.advance(20_000);
    assert.deepEqual(begun, ['a', 'a']);
    await reconciler.stop();
  });

  it('runs as many keys at once as it may', async () => {
    let now = 0;
    let most = 0;
    const { clock, reconciler } = stand(
      async (_, at) => {
        now += 1;
        most = Math.max(most, now);
        await sleep(at, 10);
        now -= 1;
      },
      { concurrency: 3 },
    );
    reconciler.start();
    for (let i = 0; i < 10; i += 1) reconciler.enqueue(`k${i}`);
    await clock.advance(0);
    assert.equal(reconciler.running, 3);
    assert.equal(reconciler.depth, 7);
    await clock.advance(40);
    assert.equal(most, 3);
    assert.equal(reconciler.depth, 0);
    await reconciler.stop();
  });

  it('waits as long as asked, at most as long as the shortest of several', async () => {
    const { clock, reconciler, begun } = stand();
    reconciler.start();
    reconciler.enqueue('a', { afterMs: 300_000 });
    reconciler.enqueue('a', { afterMs: 20_000 });
    reconciler.enqueue('a', { afterMs: 60_000 });
    await clock.advance(19_999);
    assert.deepEqual(begun, []);
    await clock.advance(1);
    assert.deepEqual(begun, ['a']);
    await clock.advance(600_000);
    assert.deepEqual(begun, ['a']);
    await reconciler.stop();
  });

  it('runs changed keys before resyncs that came first', async () => {
    const { clock, reconciler, begun } = stand((_, at) => sleep(at, 10));
    reconciler.start();
    for (const key of ['r1', 'r2', 'r3']) reconciler.enqueue(key, { priority: 'low' });
    await clock.advance(0);
    reconciler.enqueue('changed');
    reconciler.enqueue('dying', { priority: 'high' });
    await clock.advance(100);
    assert.deepEqual(begun, ['r1', 'dying', 'changed', 'r2', 'r3']);
    await reconciler.stop();
  });

  it('comes back when the run asks for it', async () => {
    let again: number | undefined = 15_000;
    const { clock, reconciler, begun } = stand(async () => (again === undefined ? {} : { requeueAfterMs: again }));
    reconciler.start();
    reconciler.enqueue('a');
    await clock.advance(14_999);
    assert.equal(begun.length, 1);
    again = undefined;
    await clock.advance(1);
    assert.equal(begun.length, 2);
    await clock.advance(600_000);
    assert.equal(begun.length, 2);
    await reconciler.stop();
  });

  it('repeats what failed after delays that double, each key by itself, and starts over after a success', async () => {
    let fail = true;
    const times: number[] = [];
    const { clock, reconciler, begun } = stand(
      async (key, at) => {
        if (key === 'good') return;
        times.push(at.monotonic());
        if (fail) throw new Error('no');
      },
      { backoff: { firstMs: 1_000, maxMs: 8_000 }, random: () => 0.5 },
    );
    reconciler.start();
    reconciler.enqueue('bad');
    await clock.advance(31_000);
    assert.deepEqual(times, [0, 1_000, 3_000, 7_000, 15_000, 23_000, 31_000]);
    reconciler.enqueue('good');
    await clock.advance(0);
    assert.equal(begun.at(-1), 'good');
    fail = false;
    await clock.advance(8_000);
    fail = true;
    times.length = 0;
    reconciler.enqueue('bad');
    await clock.advance(1_000);
    assert.equal(times.length, 2);
    await reconciler.stop();
  });

  it('forgets the failures of a key when told to', async () => {
    const times: number[] = [];
    const { clock, reconciler } = stand(
      async (_, at) => {
        times.push(at.monotonic());
        throw new Error('no');
      },
      { backoff: { firstMs: 1_000, maxMs: 100_000 }, random: () => 0.5 },
    );
    reconciler.start();
    reconciler.enqueue('a');
    await clock.advance(7_000);
    reconciler.forget('a');
    await clock.advance(8_000);
    await clock.advance(1_000);
    assert.deepEqual(times, [0, 1_000, 3_000, 7_000, 15_000, 16_000]);
    await reconciler.stop();
  });

  for (const [name, error] of [
    ['KubeError', new KubeError({ status: 429, reason: 'TooManyRequests', message: 'busy', retryAfterMs: 30_000 })],
    [
      'CloudError',
      new CloudError({ kind: 'Throttled', cloud: 'aws', operation: 'X', message: 'busy', retryAfterMs: 30_000 }),
    ],
  ] as const) {
    it(`waits at least as long as a ${name} asks`, async () => {
      const { clock, reconciler, begun } = stand(async () => {
        throw error;
      });
      reconciler.start();
      reconciler.enqueue('a');
      await clock.advance(29_999);
      assert.equal(begun.length, 1);
      await clock.advance(1);
      assert.equal(begun.length, 2);
      await reconciler.stop();
    });
  }

  it('runs a failed key at once when it changes', async () => {
    const { clock, reconciler, begun } = stand(
      async () => {
        throw new Error('no');
      },
      { backoff: { firstMs: 60_000, maxMs: 60_000 } },
    );
    reconciler.start();
    reconciler.enqueue('a');
    await clock.advance(1_000);
    reconciler.enqueue('a');
    await clock.advance(0);
    assert.equal(begun.length, 2);
    await reconciler.stop();
  });

  it('survives a reconcile that throws at once', async () => {
    const { clock, reconciler, begun } = stand(() => {
      throw new Error('not even a promise');
    });
    reconciler.start();
    reconciler.enqueue('a');
    await clock.advance(2_000);
    assert.ok(begun.length > 1);
    await reconciler.stop();
  });

  it('drains what runs when it stops, and begins nothing more', async () => {
    const ended: string[] = [];
    const { clock, reconciler, begun } = stand(async (key, at) => {
      await sleep(at, 3_000);
      ended.push(key);
    });
    reconciler.start();
    reconciler.enqueue('a');
    reconciler.enqueue('b');
    await clock.advance(0);
    let stopped = false;
    const stopping = reconciler.stop().then(() => {
      stopped = true;
    });
    reconciler.enqueue('c');
    await clock.advance(2_999);
    assert.equal(stopped, false);
    await clock.advance(1);
    assert.equal(stopped, true);
    await stopping;
    assert.deepEqual([begun, ended], [['a'], ['a']]);
    assert.equal(clock.pending, 0);
  });

  it('tells what runs too long to give up, and leaves what does not', async () => {
    const { clock, reconciler } = stand(
      (key, at, signal) => (key === 'polite' ? sleep(at, 60_000, signal) : sleep(at, 60_000)),
      {
        concurrency: 2,
        drainMs: 5_000,
      },
    );
    reconciler.start();
    reconciler.enqueue('polite');
    reconciler.enqueue('deaf');
    await clock.advance(0);
    let stopped = false;
    void reconciler.stop().then(() => {
      stopped = true;
    });
    await clock.advance(5_000);
    assert.equal(reconciler.running, 1);
    assert.equal(stopped, false);
    await clock.advance(1_000);
    assert.equal(stopped, true);
  });

  it('shows progress while it has nothing to do, and none while a run hangs', async () => {
    const { clock, reconciler } = stand((_, at) => sleep(at, 50_000));
    reconciler.start();
    await clock.advance(100_000);
    assert.equal(reconciler.lastProgressAt, 100_000);
    reconciler.enqueue('a');
    reconciler.enqueue('b');
    await clock.advance(40_000);
    assert.equal(reconciler.lastProgressAt, 100_000);
    assert.equal(reconciler.longestRunningSeconds, 40);
    assert.equal(reconciler.unfinishedSeconds, 40);
    await clock.advance(20_000);
    assert.equal(reconciler.lastProgressAt, 150_000);
    const stopping = reconciler.stop();
    await clock.advance(50_000);
    await stopping;
  });

  it('counts as upstream counts', async () => {
    const seen: string[] = [];
    let fail = true;
    const { clock, reconciler } = stand(
      async (_, at) => {
        await sleep(at, 500);
        if (fail) throw new Error('no');
      },
      {
        backoff: { firstMs: 1_000, maxMs: 1_000 },
        random: () => 0.5,
        metrics: {
          added: (name) => seen.push(`${name} added`),
          depth: (_, keys) => seen.push(`depth ${keys}`),
          waited: (_, seconds) => seen.push(`waited ${seconds}`),
          worked: (_, seconds) => seen.push(`worked ${seconds}`),
          retried: () => seen.push('retried'),
        },
      },
    );
    reconciler.start();
    reconciler.enqueue('a');
    reconciler.enqueue('b');
    await clock.advance(500);
    fail = false;
    await clock.advance(5_000);
    assert.deepEqual(seen, [
      'nodes added',
      'nodes added',
      'waited 0',
      'depth 1',
      'worked 0.5',
      'retried',
      'waited 0.5',
      'depth 0',
      'worked 0.5',
      'depth 0',
      'waited 0',
      'depth 0',
      'worked 0.5',
      'depth 0',
    ]);
    await reconciler.stop();
  });

  it('never loses a key, never runs one twice at once, and does the same twice', async () => {
    const deed = fc.record({
      key: fc.constantFrom(...'abcdef'),
      waitMs: fc.nat({ max: 300 }),
      afterMs: fc.constantFrom(0, 0, 0, 50, 700),
      priority: fc.constantFrom('high', 'normal', 'low'),
    });
    const play = async (
      deeds: readonly { key: string; waitMs: number; afterMs: number; priority: string }[],
      seed: number,
      concurrency: number,
    ) => {
      const random = seededRandom(seed);
      const trace: string[] = [];
      const broken: string[] = [];
      const running = new Set<string>();
      const askedAt = new Map<string, number>();
      const provenAt = new Map<string, number>();
      const { clock, reconciler } = stand(
        async (key, at) => {
          // Kept, not thrown: a throw here is a failed run and nothing more.
          if (running.has(key)) broken.push(`two runs of ${key}`);
          if (running.size >= concurrency) broken.push('too many runs');
          running.add(key);
          const began = at.monotonic();
          trace.push(`${began} ${key}`);
          const outcome = random();
          if (outcome < 0.8) await sleep(at, Math.floor(random() * 200));
          running.delete(key);
          if (outcome < 0.3) throw new Error('no');
          provenAt.set(key, began);
          if (outcome < 0.4) return { requeueAfterMs: 100 };
          return undefined;
        },
        { concurrency, random: seededRandom(seed + 1), backoff: { firstMs: 20, maxMs: 500 } },
      );
      reconciler.start();
      for (const { key, waitMs, afterMs, priority } of deeds) {
        await clock.advance(waitMs);
        reconciler.enqueue(key, { afterMs, priority: priority as 'high' });
        askedAt.set(key, clock.monotonic());
      }
      await clock.advance(60_000);
      for (const [key, at] of askedAt) {
        assert.ok((provenAt.get(key) ?? -1) >= at, `${key} was asked for at ${at}, last done ${provenAt.get(key)}`);
      }
      assert.deepEqual(broken, []);
      await reconciler.stop();
      assert.equal(clock.pending, 0);
      return trace;
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(deed, { minLength: 1, maxLength: 15 }),
        fc.nat(),
        fc.integer({ min: 1, max: 4 }),
        async (deeds, seed, concurrency) => {
          assert.deepEqual(await play(deeds, seed, concurrency), await play(deeds, seed, concurrency));
        },
      ),
      { numRuns: 30, seed: 20260101 },
    );
  });
});
