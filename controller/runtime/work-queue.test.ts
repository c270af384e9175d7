import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleep } from '../../common/process/clock.ts';
import { workQueueHarness } from './testing/work-queue-harness.ts';

describe('a work queue', () => {
  it('starts no run before it is started, and none within enqueue', async () => {
    const { clock, queue, begun } = workQueueHarness();
    queue.enqueue('a');
    await clock.advance(1_000);
    assert.deepEqual(begun, []);
    queue.start();
    queue.enqueue('b');
    assert.deepEqual(begun, []);
    await clock.advance(0);
    assert.deepEqual(begun, ['a', 'b']);
    await queue.stop();
  });

  it('runs a key once, however often it was enqueued while it waited', async () => {
    const { clock, queue, begun } = workQueueHarness();
    queue.start();
    for (let i = 0; i < 5; i += 1) queue.enqueue('a');
    await clock.advance(0);
    assert.deepEqual(begun, ['a']);
    await queue.stop();
  });

  it('runs a key again that was enqueued during its run, and never twice at once', async () => {
    const { clock, queue, begun } = workQueueHarness((_, at) => sleep(at, 100), { concurrency: 4 });
    queue.start();
    queue.enqueue('a');
    await clock.advance(50);
    queue.enqueue('a');
    queue.enqueue('a', { afterMs: 10_000 });
    await clock.advance(49);
    assert.deepEqual(begun, ['a']);
    await clock.advance(1);
    assert.deepEqual(begun, ['a', 'a']);
    await clock.advance(20_000);
    assert.deepEqual(begun, ['a', 'a']);
    await queue.stop();
  });

  it('runs as many keys at once as its concurrency allows', async () => {
    let now = 0;
    let most = 0;
    const { clock, queue } = workQueueHarness(
      async (_, at) => {
        now += 1;
        most = Math.max(most, now);
        await sleep(at, 10);
        now -= 1;
      },
      { concurrency: 3 },
    );
    queue.start();
    for (let i = 0; i < 10; i += 1) queue.enqueue(`k${i}`);
    await clock.advance(0);
    assert.equal(queue.running, 3);
    assert.equal(queue.depth, 7);
    await clock.advance(40);
    assert.equal(most, 3);
    assert.equal(queue.depth, 0);
    await queue.stop();
  });

  it('waits as long as asked, at most as long as the shortest of several', async () => {
    const { clock, queue, begun } = workQueueHarness();
    queue.start();
    queue.enqueue('a', { afterMs: 300_000 });
    queue.enqueue('a', { afterMs: 20_000 });
    queue.enqueue('a', { afterMs: 60_000 });
    await clock.advance(19_999);
    assert.deepEqual(begun, []);
    await clock.advance(1);
    assert.deepEqual(begun, ['a']);
    await clock.advance(600_000);
    assert.deepEqual(begun, ['a']);
    await queue.stop();
  });

  it('runs changed keys before resyncs that came first', async () => {
    const { clock, queue, begun } = workQueueHarness((_, at) => sleep(at, 10));
    queue.start();
    for (const key of ['r1', 'r2', 'r3']) queue.enqueue(key, { priority: 'low' });
    await clock.advance(0);
    queue.enqueue('changed');
    queue.enqueue('dying', { priority: 'high' });
    await clock.advance(100);
    assert.deepEqual(begun, ['r1', 'dying', 'changed', 'r2', 'r3']);
    await queue.stop();
  });

  it('merges requests during a run to the shorter wait and the higher priority', async () => {
    const { clock, queue, begun } = workQueueHarness((_, at) => sleep(at, 100));
    queue.start();
    queue.enqueue('a');
    await clock.advance(50);
    queue.enqueue('a', { afterMs: 300, priority: 'high' });
    queue.enqueue('a', { afterMs: 10_000, priority: 'low' });
    for (const key of ['b', 'c', 'd', 'e']) queue.enqueue(key);
    await clock.advance(20_000);
    assert.deepEqual(begun, ['a', 'b', 'c', 'd', 'a', 'e']);
    await queue.stop();
  });

  it('repeats a key when its run requests it', async () => {
    let again: number | undefined = 15_000;
    const { clock, queue, begun } = workQueueHarness(async () =>
      again === undefined ? {} : { requeueAfterMs: again },
    );
    queue.start();
    queue.enqueue('a');
    await clock.advance(14_999);
    assert.equal(begun.length, 1);
    again = undefined;
    await clock.advance(1);
    assert.equal(begun.length, 2);
    await clock.advance(600_000);
    assert.equal(begun.length, 2);
    await queue.stop();
  });

  it('drains running keys when it stops, and starts no more', async () => {
    const ended: string[] = [];
    const { clock, queue, begun } = workQueueHarness(async (key, at) => {
      await sleep(at, 3_000);
      ended.push(key);
    });
    queue.start();
    queue.enqueue('a');
    queue.enqueue('b');
    await clock.advance(0);
    let stopped = false;
    const stopping = queue.stop().then(() => {
      stopped = true;
    });
    queue.enqueue('c');
    await clock.advance(2_999);
    assert.equal(stopped, false);
    await clock.advance(1);
    assert.equal(stopped, true);
    await stopping;
    assert.deepEqual([begun, ended], [['a'], ['a']]);
    assert.equal(clock.pending, 0);
  });

  it('aborts runs that outlast the drain time, and returns without those that do not end', async () => {
    const { clock, queue } = workQueueHarness(
      (key, at, signal) => (key === 'polite' ? sleep(at, 60_000, signal) : sleep(at, 60_000)),
      {
        concurrency: 2,
        drainMs: 5_000,
      },
    );
    queue.start();
    queue.enqueue('polite');
    queue.enqueue('deaf');
    await clock.advance(0);
    let stopped = false;
    void queue.stop().then(() => {
      stopped = true;
    });
    await clock.advance(5_000);
    assert.equal(queue.running, 1);
    assert.equal(stopped, false);
    await clock.advance(1_000);
    assert.equal(stopped, true);
  });

  it('shows progress while it is idle, and none while a run hangs', async () => {
    const { clock, queue } = workQueueHarness((_, at) => sleep(at, 50_000));
    queue.start();
    await clock.advance(100_000);
    assert.equal(queue.lastProgressAt, 100_000);
    queue.enqueue('a');
    queue.enqueue('b');
    await clock.advance(40_000);
    assert.equal(queue.lastProgressAt, 100_000);
    assert.equal(queue.longestRunningSeconds, 40);
    assert.equal(queue.unfinishedSeconds, 40);
    await clock.advance(20_000);
    assert.equal(queue.lastProgressAt, 150_000);
    const stopping = queue.stop();
    await clock.advance(50_000);
    await stopping;
  });

  it('counts adds, waits, runs and retries as upstream`s queue does', async () => {
    const seen: string[] = [];
    let fail = true;
    const { clock, queue } = workQueueHarness(
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
    queue.start();
    queue.enqueue('a');
    queue.enqueue('b');
    await clock.advance(500);
    fail = false;
    await clock.advance(5_000);
    await queue.stop();
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
