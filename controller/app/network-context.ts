import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { MetricRegistry } from '../../common/process/metrics.ts';
import type { Random } from '../../common/process/random.ts';
import type { Fence, KubeApi } from '../kube/api.ts';
import type { EventSink } from '../kube/event-sink.ts';
import type { Informer } from '../kube/informer.ts';
import type { Leadership } from '../kube/leadership.ts';
import type { ShippedObjects } from '../kube/shipped-objects.ts';
import type { BudgetKeeper } from '../model/budget-keeper.ts';
import type { NodeView } from '../model/node-view.ts';
import type { Resolver } from '../nodes/resolve.ts';
import type { QueueMetrics } from '../runtime/reconciler.ts';
import type { Loops } from './options/loops.ts';

/** What the tasks besides that for Nodes share. */
export interface NetworkContext {
  /** Not fenced; for reads, on standbys too. */
  readonly readApi: KubeApi;
  /** Fenced, and withheld while everything is paused. */
  readonly api: KubeApi;
  readonly fence: Fence;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodes: Informer<NodeView>;
  readonly resolver: Resolver;
  readonly events: EventSink;
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
  paused(): boolean;
}
