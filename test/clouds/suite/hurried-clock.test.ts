import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleep } from '../../../common/process/clock.ts';
import { hurriedClock } from './hurried-clock.ts';

describe('the hurried clock', () => {
  it('shows the whole of a short wait as passed, and of two at once the longer one', async () => {
    const clock = hurriedClock();
    const [began, wall] = [clock.monotonic(), clock.now()];
    await Promise.all([sleep(clock, 3000), sleep(clock, 2000)]);
    for (const passed of [clock.monotonic() - began, clock.now() - wall]) assert.ok(passed >= 2990 && passed < 4500);
  });

  it('leaves the limit of a call at its full length', async () => {
    const clock = hurriedClock();
    let isOver = false;
    const limit = clock.setTimer(10_000, () => {
      isOver = true;
    });
    await clock.pass(60_000);
    await sleep(clock, 1000);
    assert.equal(isOver, false);
    limit.cancel();
  });
});
