import assert from 'node:assert/strict';
import { it } from 'node:test';
import { printPlan } from './print-plan.ts';

it('does not end in "nothing" where a change could not be planned', () => {
  const told = printPlan({ changes: [], problems: ['node a: Timeout', 'node b: Timeout'] });
  assert.match(told, /^in doubt: node a: Timeout\nin doubt: node b: Timeout\n/);
  assert.match(told, /\nNothing would be changed, 2 in doubt\.\n$/);
  assert.equal(printPlan({ changes: [], problems: [] }), 'Nothing would be changed.\n');
});
