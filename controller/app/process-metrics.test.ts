import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { createProcessMetrics } from './process-metrics.ts';

it('the counter of reloads begins at 0 with each result, so that the first one is an increase', async () => {
  const registry = createMetricRegistry();
  const { watchReloads, onReload } = createProcessMetrics(registry);
  const shown = async () =>
    [...(await registry.text()).matchAll(/^mooring_cloud_credential_reloads_total\{.*result="(.*)"\} (\d)$/gm)].map(
      ([, result, count]) => `${result} ${count}`,
    );
  watchReloads('aws');
  assert.deepEqual(await shown(), ['ok 0', 'refused 0', 'invalid 0', 'restart-needed 0', 'reverted 0']);
  onReload('aws', 'restart-needed');
  assert.deepEqual(await shown(), ['ok 0', 'refused 0', 'invalid 0', 'restart-needed 1', 'reverted 0']);
});

for (const end of ['ok', 'reverted'] as const)
  it(`a credential counts as not taken, by the last result, until it is ${end}`, async () => {
    const registry = createMetricRegistry();
    const { onReload } = createProcessMetrics(registry);
    const shown = async () =>
      [...(await registry.text()).matchAll(/^mooring_cloud_credential_not_taken\{.*result="(.*)"\} 1$/gm)].map(
        ([, result]) => result,
      );
    onReload('aws', 'invalid');
    onReload('aws', 'refused');
    assert.deepEqual(await shown(), ['refused']);
    onReload('aws', end);
    assert.deepEqual(await shown(), []);
  });

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
