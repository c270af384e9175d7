import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRetryAfter } from './client.ts';

const now = Date.parse('2026-01-01T00:00:00Z');

const cases: readonly (readonly [string | null, number | undefined])[] = [
  [null, undefined],
  ['7', 7000],
  ['0', 0],
  [' 3 ', 3000],
  ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
  ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
  ['99999999', 3_600_000],
  ['soon', undefined],
];

for (const [value, ms] of cases) {
  test(`Retry-After ${JSON.stringify(value)} means ${ms === undefined ? 'nothing' : `${ms} ms`}`, () => {
    assert.equal(parseRetryAfter(value, now), ms);
  });
}
