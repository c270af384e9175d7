import assert from 'node:assert/strict';
import { it } from 'node:test';
import { compareSeed } from './compare-seed.ts';

it('plans what a run does and a dry run tells, and nothing else, without a write, in 40 clusters', async () => {
  let planned = 0;
  for (let seed = 1; seed <= 40; seed += 1) {
    const compared = await compareSeed(seed);
    const { unplanned, undone, untold, writes, plan } = compared;
    const differences = { unplanned, undone, ...untold, writes, problems: plan.problems };
    const none = { unplanned: [], undone: [], byPlan: [], byDryRun: [], writes: [], problems: [] };
    assert.deepEqual(differences, none, `seed ${seed}`);
    planned += compared.planned.length;
  }
  assert.ok(planned > 200, `${planned} changes were planned`);
});
