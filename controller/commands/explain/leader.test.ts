import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaderFault } from './leader.ts';

const nowMs = Date.parse('2026-05-01T12:00:00Z');

for (const [durationSeconds, leads, silent] of [
  [15, 30, 31],
  [60, 120, 121],
  [2, 10, 11],
  [undefined, 30, 31],
] as const)
  test(`a leader whose Lease lasts ${durationSeconds ?? 'unknown'} s counts as silent after ${leads} s`, () => {
    const faultAfter = (seconds: number) => {
      const renewTime = new Date(nowMs - seconds * 1000).toISOString();
      return leaderFault({
        leader: { identity: 'one', renewTime, durationSeconds, annotations: {} },
        hidden: [],
        nowMs,
      });
    };
    assert.equal(faultAfter(leads), undefined);
    assert.match(faultAfter(silent)?.why ?? '', /last renewed \d+ s ago, so no controller acts/);
  });
