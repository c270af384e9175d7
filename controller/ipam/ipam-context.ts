import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { MetricsOf } from '../../common/process/metrics.ts';
import type { Random } from '../../common/process/random.ts';
import type { KubeApi } from '../kube/api.ts';
import type { EventSink } from '../kube/event-sink.ts';
import type { Informer } from '../kube/informer.ts';
import type { NodeView } from '../model/node-view.ts';
import type { Resolver } from '../nodes/resolve.ts';
import type { ipamMetrics } from './metrics.ts';

export interface IpamContext {
  /** Fenced, and paused where everything is. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodes: Informer<NodeView>;
  readonly resolver: Resolver;
  readonly events: EventSink;
  readonly metrics: MetricsOf<typeof ipamMetrics>;
  /** True while everything is paused. */
  paused(): boolean;
}
