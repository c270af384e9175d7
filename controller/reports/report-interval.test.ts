import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { nextReportSeconds } from './report-interval.ts';

it('asks for a report a minute up to 1,000 nodes, for fewer beyond, and for one in ten minutes at least', () => {
  assert.deepEqual([0, 1, 1_000, 5_000, 15_000, 1_000_000].map(nextReportSeconds), [60, 60, 60, 295, 600, 600]);
});

it('never lets the leader see more than 17 reports a second below 10,000 nodes', () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 10_000 }), (nodes) => nodes / nextReportSeconds(nodes) <= 17));
});
