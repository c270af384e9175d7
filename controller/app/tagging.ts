import { nodeTagMetrics } from '../node-tags/metrics.ts';
import { createNodeTagsTask, type NodeTagsTask } from '../node-tags/node-tags-task.ts';
import { createPermit } from '../runtime/leader-permit.ts';
import type { NetworkContext } from './network-context.ts';
import { loopNames } from './options/loops.ts';
import { OptionError } from './options/options.ts';
import type { TaggingOptions } from './options/tagging-options.ts';

/**
 * The loop that tags instances. Throws an OptionError where none of the clouds can tag, or one of them does not take
 * such tags.
 */
export function createTagging(context: NetworkContext, { tags, limits }: TaggingOptions): NodeTagsTask {
  const { clock, random, nodes, resolver, events, registry, fence, budget, queueMetrics, paused } = context;
  const log = context.log.with({ controller: loopNames.tagging });
  const clouds = resolver.configured;
  if (clouds.every(({ api, unidentified }) => api?.nodeTags === undefined && unidentified === undefined)) {
    const names = [...new Set(clouds.map(({ name }) => name))].join(', ');
    const expected = `expected a --cloud-provider whose instances can be tagged, not ${names}`;
    throw new OptionError(`--controllers: "${loopNames.tagging}", ${expected}`);
  }
  for (const { name, api } of clouds)
    for (const [key, value] of Object.entries(tags)) {
      const expected = api?.nodeTags?.expected(key, value);
      if (expected !== undefined)
        throw new OptionError(`--tags: ${JSON.stringify(`${key}=${value}`)}, expected ${expected} (${name})`);
    }
  const permit = (held: () => string | false) => createPermit({ fence, paused: () => paused() || held() });
  return createNodeTagsTask(
    { clock, random, log, nodes, resolver, events, metrics: registry.define(nodeTagMetrics), paused, permit },
    { tags, limits, budget, queueMetrics },
  );
}
