import type { MetricRegistry } from '../../common/process/metrics.ts';
import type { Fence, KubeApi } from '../kube/api.ts';
import type { Leadership } from '../kube/leadership.ts';
import type { ShippedObjects } from '../kube/shipped-objects.ts';
import type { BudgetKeeper } from '../model/budget-keeper.ts';
import type { NodeTaskContext } from '../nodes/node-task-context.ts';
import type { QueueMetrics } from '../runtime/work-queue.ts';
import { type Loops, loopNames } from './options/loops.ts';

/** What the tasks besides that for Nodes share. */
export interface NetworkContext extends NodeTaskContext {
  /** Not fenced; for reads, on standbys too. */
  readonly readApi: KubeApi;
  /** Fenced, and withheld while everything is paused. */
  readonly api: KubeApi;
  readonly fence: Fence;
  readonly registry: MetricRegistry;
  readonly shipped: ShippedObjects;
  readonly queueMetrics: QueueMetrics;
  /** For records in annotations of the Lease. */
  readonly leadership: Pick<Leadership, 'annotations' | 'annotate'>;
  /** For members and routes of deleted Nodes. */
  readonly budget: BudgetKeeper;
  readonly loops: Loops;
  /** Objects per page of a list; default as in createListWatch. */
  readonly pageSize?: number | undefined;
}

/** What each of the tasks needs, with a log that names its loop. */
export function loopParts({ api, clock, random, log, events, paused }: NetworkContext, loop: keyof Loops) {
  return { api, clock, random, log: log.with({ controller: loopNames[loop] }), events, paused };
}
