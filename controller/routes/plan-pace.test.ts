import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPlanPace } from './plan-pace.ts';

it('lets the next plan wait for ten times as long as the last one took', () => {
  const clock = { ms: 1000 };
  const pace = createPlanPace(() => clock.ms);
  assert.equal(pace.afterMs(200), 200);
  const plan = pace.run(() => {
    clock.ms += 150;
    return 'plan';
  });
  assert.equal(plan, 'plan');
  assert.equal(pace.afterMs(200), 1500);
  assert.equal(pace.afterMs(5000), 5000);
  clock.ms += 1400;
  assert.equal(pace.afterMs(200), 200);
  pace.run(() => {});
  assert.equal(pace.afterMs(0), 0);
});
