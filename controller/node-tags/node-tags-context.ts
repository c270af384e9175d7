import type { MetricsOf } from '../../common/process/metrics.ts';
import type { Permit } from '../clouds/permit.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { isUninitialized, type NodeView } from '../model/node-view.ts';
import { answeringCloud } from '../model/ownership.ts';
import type { NodeTaskContext } from '../nodes/node-task-context.ts';
import type { nodeTagMetrics } from './metrics.ts';

/** The dependencies that all parts of the tagging task share. */
export interface NodeTagsContext extends NodeTaskContext {
  readonly metrics: MetricsOf<typeof nodeTagMetrics>;
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
