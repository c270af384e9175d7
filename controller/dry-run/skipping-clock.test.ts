import assert from 'node:assert/strict';
import { it } from 'node:test';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createSkippingClock } from './skipping-clock.ts';

it('runs as its base does, and skips on demand, firing what is due then in order', async () => {
  const base = fakeClock(0);
  const clock = createSkippingClock(base);
  const fired: string[] = [];
  clock.setTimer(1000, () => fired.push('first'));
  clock.setTimer(60_000, () => {
    fired.push('second');
    clock.setTimer(10_000, () => fired.push('third'));
  });
  clock.setTimer(30_000, () => fired.push('cancelled')).cancel();
  await base.advance(1000);
  assert.deepEqual(fired, ['first']);
  assert.equal(clock.nextInMs(), 59_000);
  clock.skip(59_000);
  assert.deepEqual(fired, ['first', 'second']);
  assert.deepEqual([clock.aheadMs, clock.monotonic(), clock.now()], [59_000, 60_000, 60_000]);
  await base.advance(10_000);
  assert.deepEqual(fired, ['first', 'second', 'third']);
  assert.equal(clock.nextInMs(), undefined);
});

it('fires a timer whose time was reached but for a rounding error', () => {
  const clock = createSkippingClock(fakeClock(0));
  let fired = false;
  clock.setTimer(0.1 + 0.2, () => {
    fired = true;
  });
  clock.skip(0.3);
  assert.ok(fired);
});
