import assert from 'node:assert/strict';
import { it } from 'node:test';
import { compareSeed } from './compare-seed.ts';

it('plans whatever a run does and nothing else, and writes nothing itself, in 40 generated clusters', async () => {
  let planned = 0;
  for (let seed = 1; seed <= 40; seed += 1) {
    const compared = await compareSeed(seed);
    const { unplanned, undone, writes, plan } = compared;
    const differences = { unplanned, undone, writes, problems: plan.problems };
    assert.deepEqual(differences, { unplanned: [], undone: [], writes: [], problems: [] }, `seed ${seed}`);
    planned += compared.planned.length;
  }
  assert.ok(planned > 200, `${planned} changes were planned`);
});
