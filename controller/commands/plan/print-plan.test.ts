import assert from 'node:assert/strict';
import { it } from 'node:test';
import { printPlan } from './print-plan.ts';

it('ends with the number of changes in doubt where one could not be planned', () => {
  const told = printPlan({ changes: [], problems: ['node a: Timeout', 'node b: Timeout'] });
  assert.match(told, /^in doubt: node a: Timeout\nin doubt: node b: Timeout\n/);
  assert.match(told, /\nNothing would be changed, 2 in doubt\.\n$/);
  const forged = printPlan({ changes: [], problems: ['HTTP 500\n- node a \u001b[2J'] });
  assert.match(forged, /^in doubt: HTTP 500\\u\{a\}- node a \\u\{1b\}\[2J\n/);
  assert.equal(printPlan({ changes: [], problems: [] }), 'Nothing would be changed.\n');
});
