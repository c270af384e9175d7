import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dashboardQueries } from './dashboards.ts';

it('shows of metrics that other programs have, too, those of Mooring alone', () => {
  const others = dashboardQueries().filter(({ query }) => !/\(mooring_/.test(query));
  assert.ok(others.length > 10);
  for (const { title, query } of others)
    assert.match(query, / and on \(job, instance\) \{__name__=~"mooring_\(agent_\)\?build_info"\}\)/, title);
});
