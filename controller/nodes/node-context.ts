import type { MetricsOf } from '../../common/process/metrics.ts';
import type { KubeApi } from '../kube/api.ts';
import type { EventTarget } from '../kube/event-sink.ts';
import type { NodeView } from '../model/node-view.ts';
import type { TagLabelRule } from '../model/tag-labels.ts';
import type { ReportStore } from '../reports/store.ts';
import type { nodeMetrics } from './metrics.ts';
import type { NodeTaskContext } from './node-task-context.ts';

/** The dependencies that all parts of the node task share. */
export interface NodeContext extends NodeTaskContext {
  /** Fenced: only the leader can write through it. */
  readonly api: KubeApi;
  readonly reports: ReportStore;
  readonly metrics: MetricsOf<typeof nodeMetrics>;
  /** True while a person protects this Node from deletion. */
  pausedNode(name: string): boolean;
  /** `--node-labels-from-tags`. Undefined: none. */
  readonly tagLabels?: readonly TagLabelRule[] | undefined;
  /**
   * Whether this Node, whose instance is in this scope, gets pod routes: then it is initialised with
   * NetworkUnavailable=True. Undefined: there are no routes.
   */
  readonly routesEnabled?: ((scope: string, node: NodeView) => boolean) | undefined;
}

export function eventTarget(node: NodeView): EventTarget {
  return { apiVersion: 'v1', kind: 'Node', name: node.name, uid: node.uid };
}

/** The newest report that is proved to come from this Node object. */
export function reportOf(context: Pick<NodeContext, 'reports'>, node: NodeView) {
  const stored = context.reports.get(node.name);
  return stored?.nodeUid === node.uid ? stored : undefined;
}
