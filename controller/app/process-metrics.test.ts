import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { createProcessMetrics } from './process-metrics.ts';

it('a queue tells its unfinished work until it is stopped, also where the next one has started before', async () => {
  const registry = createMetricRegistry();
  const { queue } = createProcessMetrics(registry);
  const first = { longestRunningSeconds: 3, unfinishedSeconds: 5 };
  const second = { longestRunningSeconds: 1, unfinishedSeconds: 1 };
  queue.started('nodes', first);
  assert.match(await registry.text(), /^workqueue_longest_running_processor_seconds\{name="nodes"\} 3$/m);
  assert.match(await registry.text(), /^workqueue_unfinished_work_seconds\{name="nodes"\} 5$/m);
  queue.started('nodes', second);
  queue.stopped('nodes', first);
  assert.match(await registry.text(), /^workqueue_unfinished_work_seconds\{name="nodes"\} 1$/m);
  queue.stopped('nodes', second);
  assert.doesNotMatch(await registry.text(), /^workqueue_unfinished_work_seconds\{/m);
});
