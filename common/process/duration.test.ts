import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatDuration, parseDuration } from './duration.ts';

const cases: readonly (readonly [string, number | undefined])[] = [
  ['0', 0],
  ['-0', 0],
  ['1m30s', 90_000],
  ['300ms', 300],
  ['5m', 300_000],
  ['1.5h', 5_400_000],
  ['.5s', 500],
  ['1h2m3.5s', 3_723_500],
  ['2us', 0.002],
  ['2µs', 0.002],
  ['7ns', 0.000007],
  ['-10s', -10_000],
  ['+10s', 10_000],
  ['60', undefined],
  ['', undefined],
  ['s', undefined],
  ['1m 30s', undefined],
  ['1d', undefined],
  ['1M', undefined],
  ['one', undefined],
  ['1m30', undefined],
];

for (const [text, ms] of cases) {
  test(`reads the duration ${JSON.stringify(text)} as ${ms === undefined ? 'none' : `${ms} ms`}`, () => {
    assert.equal(parseDuration(text), ms);
  });
}

test('prints the shortest form', () => {
  assert.equal(formatDuration(90_000), '1m30s');
  assert.equal(formatDuration(300_000), '5m');
  assert.equal(formatDuration(0), '0s');
  assert.equal(formatDuration(1500), '1.5s');
  assert.equal(formatDuration(86_400_000), '24h');
});

test('what is printed reads back as the same number of milliseconds', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), (ms) => {
      assert.equal(parseDuration(formatDuration(ms)), ms);
    }),
  );
});
