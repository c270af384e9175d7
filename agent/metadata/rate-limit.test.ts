import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createRateLimit } from './rate-limit.ts';

const never = new AbortController().signal;

test('allows five calls in any second, however many callers wait', async () => {
  const clock = fakeClock();
  const waitForTurn = createRateLimit(clock, 5, 1000);
  const passed: number[] = [];
  const ask = () => waitForTurn(never).then(() => passed.push(clock.monotonic()));
  const asked = Array.from({ length: 12 }, ask);
  await clock.advance(700);
  assert.equal(passed.length, 5);
  asked.push(ask());
  await clock.advance(10_000);
  await Promise.all(asked);
  for (const [index, at] of passed.entries()) {
    assert.ok(index < 5 || at - passed[index - 5]! >= 1000, `${passed}`);
  }
  assert.equal(passed.at(-1), passed[0]! + 2000);
});

test('an aborted caller no longer waits', async () => {
  const clock = fakeClock();
  const waitForTurn = createRateLimit(clock, 1, 1000);
  await waitForTurn(never);
  await assert.rejects(waitForTurn(AbortSignal.abort(new Error('given up'))), /given up/);
});
