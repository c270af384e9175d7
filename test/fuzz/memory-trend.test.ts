import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoryTrend } from './memory-trend.ts';

/** Samples of a run whose memory first fills caches and then grows so many bytes per case. */
function samples(cases: number, perCase: number) {
  return Array.from({ length: cases / 1000 }, (_, index) => {
    const at = (index + 1) * 1000;
    const warm = Math.min(at, 12_000) * 500;
    const noise = (index % 3) * 30_000;
    return { cases: at, rss: 130e6 + warm + noise + at * perCase, held: 50e6 + warm + noise / 10 + at * perCase };
  });
}

describe('the memory trend', () => {
  it('finds no fault when caches fill at first and nothing grows afterwards', () => {
    assert.deepEqual(
      [memoryTrend(samples(50_000, 0)).fault, memoryTrend(samples(50_000, 0)).judged],
      [undefined, true],
    );
  });

  it('finds a fault when every case leaves memory behind', () => {
    assert.match(memoryTrend(samples(50_000, 64)).fault ?? '', /memory grows: \d+\.\d bytes held/);
    assert.match(memoryTrend(samples(50_000, 400)).fault ?? '', /bytes of RSS/);
  });

  it('judges no trend after few cases', () => {
    assert.equal(memoryTrend(samples(20_000, 64)).judged, false);
  });
});
