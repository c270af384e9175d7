import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../testing/fake-clock.ts';
import { restOrAbort, untilAborted } from './until.ts';

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

test('waiting for a signal that has aborted is no wait', async () => {
  let over = false;
  void untilAborted(AbortSignal.abort()).then(() => {
    over = true;
  });
  await Promise.resolve();
  await Promise.resolve();
  assert.equal(over, true);
});
