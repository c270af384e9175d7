import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ShownAddresses, shownAfter } from './shown-addresses.ts';

const [ours, theirs, none] = [[{ ip: '192.0.2.1' }], [{ ip: '203.0.113.5' }], []];

/** Overwritten as soon as they may be restored. */
function overwrittenOften(times: number): ShownAddresses {
  let state = shownAfter(undefined, none, ours, 0);
  for (let each = 0; each < times; each += 1) state = shownAfter(state, theirs, ours, state.untilMs);
  return state;
}

test('addresses that are overwritten are restored at once for some times, then after growing delays', () => {
  const delays = Array.from({ length: 12 }, (_, times) => {
    const { untilMs } = overwrittenOften(times);
    return (overwrittenOften(times + 1).untilMs - untilMs) / 1000;
  });
  assert.deepEqual(delays, [0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 300, 300]);
});

test('addresses wait until their time has come', () => {
  const state = overwrittenOften(5);
  assert.equal(shownAfter(state, theirs, ours, state.untilMs - 1), state);
  assert.notEqual(shownAfter(state, theirs, ours, state.untilMs), state);
});

test('addresses that were left alone for five minutes are restored at once again', () => {
  const state = overwrittenOften(12);
  const nowMs = state.untilMs + 300_001;
  assert.equal(shownAfter(state, ours, ours, nowMs), state);
  assert.equal(shownAfter(state, theirs, ours, nowMs).untilMs, nowMs);
});

test('other addresses are shown at once', () => {
  const state = overwrittenOften(12);
  const desired = [{ ip: '192.0.2.2' }];
  assert.deepEqual(shownAfter(state, theirs, desired, 7), { ingress: desired, repairs: 0, untilMs: 7 });
});
