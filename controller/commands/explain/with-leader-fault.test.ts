import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServiceExplanation } from './explain-service.ts';
import type { Explanation } from './explanation.ts';
import { leaderFault } from './leader.ts';
import { withLeaderFault } from './with-leader-fault.ts';

const nowMs = Date.parse('2026-05-01T12:00:00Z');
const none = { leader: undefined, hidden: [], nowMs };
const of = (state: Explanation['state'], remedy = 'Check it.'): Explanation => ({
  node: 'n',
  state,
  reason: '',
  why: 'being confirmed',
  remedy,
  facts: {},
  events: [],
});

test('an explanation says first that no controller acts, and then what was last known', () => {
  const { why, remedy } = withLeaderFault(of('missing'), none);
  assert.equal(why, 'no controller holds the Lease, so none acts; last known: being confirmed');
  assert.equal(remedy, 'Check the pods of the controller and their logs. Check it.');
  const { node: _node, ...others } = of('missing');
  const service: ServiceExplanation = { ...others, service: 'default/web', state: 'deleting' };
  assert.match(withLeaderFault(service, none).why, /^no controller holds the Lease/);
});

test('an explanation says once that no controller acts', () => {
  const fault = leaderFault(none)!;
  assert.deepEqual(withLeaderFault({ ...of('waiting'), ...fault }, none), { ...of('waiting'), ...fault });
  assert.equal(withLeaderFault(of('waiting', fault.remedy), none).remedy, fault.remedy);
});

test('an explanation is silent about the leader where nothing waits for it, or nothing is known of it', () => {
  for (const state of ['initialized', 'foreign', 'paused', 'deleting'] as const)
    assert.equal(withLeaderFault(of(state), none).why, 'being confirmed', state);
  assert.equal(withLeaderFault(of('missing'), { ...none, hidden: ['leader'] }).why, 'being confirmed');
});
