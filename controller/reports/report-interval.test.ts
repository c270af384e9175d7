import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { nextReportSeconds } from './report-interval.ts';

it('asks for a report a minute up to 300 nodes, for fewer beyond, and for one in half an hour at least', () => {
  assert.deepEqual([0, 1, 300, 1_000, 5_000, 15_000].map(nextReportSeconds), [60, 60, 60, 200, 1000, 1800]);
});

it('never lets the leader see more than 5 reports a second below 9,000 nodes', () => {
  fc.assert(fc.property(fc.integer({ min: 0, max: 9000 }), (nodes) => nodes / nextReportSeconds(nodes) <= 5));
});
