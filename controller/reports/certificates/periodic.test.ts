import assert from 'node:assert/strict';
import { it } from 'node:test';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { periodic } from './periodic.ts';

function setUp() {
  const clock = fakeClock();
  const passes: ReturnType<typeof Promise.withResolvers<void>>[] = [];
  const failures: unknown[] = [];
  const loop = periodic({
    clock,
    run() {
      const pass = Promise.withResolvers<void>();
      passes.push(pass);
      return pass.promise;
    },
    intervalMs: 30_000,
    retryMs: 5_000,
    onFailure: (error) => failures.push(error),
  });
  return { clock, passes, failures, loop };
}

it('makes one pass at a time, sooner again after a failure', async () => {
  const { clock, passes, failures, loop } = setUp();
  loop.start();
  await clock.advance(100_000);
  assert.equal(passes.length, 1);
  passes[0]?.resolve();
  await clock.advance(30_000);
  assert.equal(passes.length, 2);
  passes[1]?.reject(new Error('no'));
  await clock.advance(4_999);
  assert.deepEqual([passes.length, failures.length], [2, 1]);
  await clock.advance(1);
  assert.equal(passes.length, 3);
  passes[2]?.resolve();
  await loop.stop();
});

it('makes one more pass for any number of wakes during one', async () => {
  const { clock, passes, loop } = setUp();
  loop.start();
  for (let n = 0; n < 5; n += 1) loop.wake();
  passes[0]?.resolve();
  await clock.advance(0);
  assert.equal(passes.length, 2);
  passes[1]?.resolve();
  await clock.advance(29_999);
  assert.equal(passes.length, 2);
  await loop.stop();
});

it('stops when the pass in progress has ended, and starts none after', async () => {
  const { clock, passes, loop } = setUp();
  loop.start();
  loop.wake();
  let stopped = false;
  const stop = loop.stop().then(() => {
    stopped = true;
  });
  await clock.advance(0);
  assert.equal(stopped, false);
  passes[0]?.resolve();
  await stop;
  loop.wake();
  await clock.advance(100_000);
  assert.deepEqual([passes.length, clock.pending], [1, 0]);
});
