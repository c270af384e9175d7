import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleep } from '../../common/process/clock.ts';
import { reconcilerHarness } from './testing/reconciler-harness.ts';

describe('a reconciler', () => {
  it('starts no run before it is started, and none within enqueue', async () => {
    const { clock, reconciler, begun } = reconcilerHarness();
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

  it('runs a key once, however often it was enqueued while it waited', async () => {
    const { clock, reconciler, begun } = reconcilerHarness();
    reconciler.start();
    for (let i = 0; i < 5; i += 1) reconciler.enqueue('a');
    await clock.advance(0);
    assert.deepEqual(begun, ['a']);
    await reconciler.stop();
  });

  it('runs a key again that was enqueued during its run, and never twice at once', async () => {
    const { clock, reconciler, begun } = reconcilerHarness((_, at) => sleep(at, 100), { concurrency: 4 });
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

  it('runs as many keys at once as its concurrency allows', async () => {
    let now = 0;
    let most = 0;
    const { clock, reconciler } = reconcilerHarness(
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
    const { clock, reconciler, begun } = reconcilerHarness();
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
    const { clock, reconciler, begun } = reconcilerHarness((_, at) => sleep(at, 10));
    reconciler.start();
    for (const key of ['r1', 'r2', 'r3']) reconciler.enqueue(key, { priority: 'low' });
    await clock.advance(0);
    reconciler.enqueue('changed');
    reconciler.enqueue('dying', { priority: 'high' });
    await clock.advance(100);
    assert.deepEqual(begun, ['r1', 'dying', 'changed', 'r2', 'r3']);
    await reconciler.stop();
  });

  it('merges requests during a run to the shorter wait and the higher priority', async () => {
    const { clock, reconciler, begun } = reconcilerHarness((_, at) => sleep(at, 100));
    reconciler.start();
    reconciler.enqueue('a');
    await clock.advance(50);
    reconciler.enqueue('a', { afterMs: 300, priority: 'high' });
    reconciler.enqueue('a', { afterMs: 10_000, priority: 'low' });
    for (const key of ['b', 'c', 'd', 'e']) reconciler.enqueue(key);
    await clock.advance(20_000);
    assert.deepEqual(begun, ['a', 'b', 'c', 'd', 'a', 'e']);
    await reconciler.stop();
  });

  it('repeats a key when its run requests it', async () => {
    let again: number | undefined = 15_000;
    const { clock, reconciler, begun } = reconcilerHarness(async () =>
      again === undefined ? {} : { requeueAfterMs: again },
    );
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

  it('drains running keys when it stops, and starts no more', async () => {
    const ended: string[] = [];
    const { clock, reconciler, begun } = reconcilerHarness(async (key, at) => {
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

  it('aborts runs that outlast the drain time, and returns without those that do not end', async () => {
    const { clock, reconciler } = reconcilerHarness(
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

  it('has progress while it is idle, and none while a run hangs', async () => {
    const { clock, reconciler } = reconcilerHarness((_, at) => sleep(at, 50_000));
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

  it('counts adds, waits, runs and retries as upstream`s queue does', async () => {
    const seen: string[] = [];
    let fail = true;
    const { clock, reconciler } = reconcilerHarness(
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
          started: (_, queue) => seen.push(`started ${queue.unfinishedSeconds}`),
          stopped: (_, queue) => seen.push(`stopped ${queue.longestRunningSeconds}`),
        },
      },
    );
    reconciler.start();
    reconciler.enqueue('a');
    reconciler.enqueue('b');
    await clock.advance(500);
    fail = false;
    await clock.advance(5_000);
    await reconciler.stop();
    assert.deepEqual(seen, [
      'started 0',
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
      'stopped 0',
    ]);
  });
});
