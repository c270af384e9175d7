import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterMsOf } from './retry-after.ts';

const nowMs = Date.parse('2026-01-01T00:00:00Z');
const asked = (text: string | null) => retryAfterMsOf({ header: () => text }, nowMs);

test('an answer asks to wait in seconds or until a date, for a quarter of an hour at most', () => {
  assert.deepEqual([asked('7'), asked('Thu, 01 Jan 2026 00:00:30 GMT')], [7000, 30_000]);
  assert.deepEqual([asked('3600'), asked('Thu, 01 Jan 2026 09:00:00 GMT')], [900_000, 900_000]);
  for (const text of [null, '', '0', 'soon', 'Wed, 31 Dec 2025 23:59:00 GMT']) assert.equal(asked(text), undefined);
});
