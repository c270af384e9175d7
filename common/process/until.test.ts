import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { fakeClock } from '../testing/fake-clock.ts';
import { createWaiter, restOrAbort, unlessAborted, untilAborted } from './until.ts';

test('a rest ends by its time', async () => {
  const clock = fakeClock();
  let over = false;
  void restOrAbort(clock, 1000, new AbortController().signal).then(() => {
    over = true;
  });
  await clock.advance(999);
  assert.equal(over, false);
  await clock.advance(1);
  assert.equal(over, true);
});

test('a rest ends by the signal, and leaves no timer', async () => {
  const clock = fakeClock();
  const stop = new AbortController();
  const rest = restOrAbort(clock, 1000, stop.signal);
  stop.abort();
  await rest;
  assert.equal(clock.pending, 0);
  await restOrAbort(clock, 1000, stop.signal);
  assert.equal(clock.pending, 0);
});

test('a wake-up ends the wait under way and no later one, and leaves neither timer nor listener', async () => {
  const clock = fakeClock();
  const stop = new AbortController();
  const waiter = createWaiter(clock);
  const first = waiter.wait(1000, stop.signal);
  waiter.wake();
  assert.equal(await first, false, 'the time is not over');
  assert.deepEqual([clock.pending, getEventListeners(stop.signal, 'abort').length], [0, 0]);

  waiter.wake();
  const second = waiter.wait(1000, stop.signal);
  await clock.advance(1000);
  assert.equal(await second, true);
});

test('waiting for an aborted signal resolves at once', async () => {
  let over = false;
  void untilAborted(AbortSignal.abort()).then(() => {
    over = true;
  });
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(over, true);
});

test('work that is given up when a signal aborts leaves no listener on the signal, however it ends', async () => {
  const stop = new AbortController();
  const interrupted = () => new Error('interrupted');
  assert.equal(await unlessAborted(Promise.resolve('done'), stop.signal, interrupted), 'done');
  const failing = unlessAborted(Promise.reject(new Error('failed')), stop.signal, interrupted);
  await assert.rejects(failing, /failed/);
  assert.equal(getEventListeners(stop.signal, 'abort').length, 0);

  const endless = unlessAborted(new Promise(() => {}), stop.signal, interrupted);
  assert.equal(getEventListeners(stop.signal, 'abort').length, 1);
  stop.abort();
  await assert.rejects(endless, /interrupted/);
  await assert.rejects(unlessAborted(new Promise(() => {}), stop.signal, interrupted), /interrupted/);
  assert.equal(getEventListeners(stop.signal, 'abort').length, 0);
});
