import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetricRegistry } from '../process/metrics.ts';
import { metricValue } from './metric-value.ts';

test('a series that was never set counts as 0, a metric that is not there does not', async () => {
  const registry = createMetricRegistry();
  const metrics = registry.define({
    open: { name: 'open_files', type: 'gauge', help: 'Open files.', labels: ['kind'] },
    waits: { name: 'wait_seconds', type: 'histogram', help: 'Waits.', buckets: [1] },
  });
  metrics.open.set({ kind: 'log' }, 3);
  assert.equal(await metricValue(registry, 'open_files', '{kind="log"}'), 3);
  assert.equal(await metricValue(registry, 'open_files', '{kind="lock"}'), 0);
  assert.equal(await metricValue(registry, 'wait_seconds_count'), 0);
  await assert.rejects(metricValue(registry, 'open_file', '{kind="log"}'), /no metric open_file/);
});
