import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { silenceOf } from './silence.ts';

describe('how long a Node must be silent', () => {
  for (const [duration, lifeMs, leaseMs] of [
    [40, 40_000, 12_000],
    [100, 100_000, 30_000],
    [600, 600_000, 180_000],
    [8, 20_000, 12_000],
    [undefined, 40_000, 12_000],
    [0, 40_000, 12_000],
    [-5, 40_000, 12_000],
    ['600', 40_000, 12_000],
    [Number.NaN, 40_000, 12_000],
    [2 ** 31, 3_600_000, 1_080_000],
  ] as const) {
    it(`requires ${lifeMs / 1000} s of silence with a lease of ${duration} s, ${leaseMs / 1000} s of our clock`, () =>
      assert.deepEqual(silenceOf(duration), { lifeMs, leaseMs }));
  }

  it('requires a silence longer than the renewal interval of a kubelet, by either clock', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 * 3600 - 2000 }), (seconds) => {
        const renewsMs = seconds * 250 * 1.04;
        const { lifeMs, leaseMs } = silenceOf(seconds);
        assert.ok(lifeMs > renewsMs && leaseMs > Math.min(renewsMs, 3_600_000 * 0.26));
      }),
      { numRuns: 1000, seed: 7 },
    );
  });
});
