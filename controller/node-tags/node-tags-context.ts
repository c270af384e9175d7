import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { MetricsOf } from '../../common/process/metrics.ts';
import type { Random } from '../../common/process/random.ts';
import type { Permit } from '../clouds/permit.ts';
import type { EventSink } from '../kube/event-sink.ts';
import type { Informer } from '../kube/informer.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { isUninitialized, type NodeView } from '../model/node-view.ts';
import { answeringCloud } from '../model/ownership.ts';
import type { Resolver } from '../nodes/resolve.ts';
import type { nodeTagMetrics } from './metrics.ts';

/** The dependencies that all parts of the tagging task share. */
export interface NodeTagsContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodes: Informer<NodeView>;
  readonly resolver: Resolver;
  readonly events: EventSink;
  readonly metrics: MetricsOf<typeof nodeTagMetrics>;
  /** True while everything is paused. */
  paused(): boolean;
  /** A permit for a call about Nodes; `held` returns why one of them forbids it, or false. */
  permit(held: () => string | false): Permit;
}

/**
 * The configured cloud in which the instance of this Node is tagged; undefined for foreign Nodes, for those that wait
 * for initialisation or are being deleted, and where several scopes may have its instance.
 */
export function taggedBy(node: NodeView, configured: readonly ConfiguredCloud[]): ConfiguredCloud | undefined {
  if (isUninitialized(node) || node.deleting) return undefined;
  const cloud = answeringCloud(node, configured);
  return cloud?.api?.nodeTags && cloud;
}
