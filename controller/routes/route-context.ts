import type { MetricsOf } from '../../common/process/metrics.ts';
import type { Permit } from '../clouds/permit.ts';
import type { KubeApi } from '../kube/api.ts';
import type { ShippedObjects } from '../kube/shipped-objects.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { isPaused, isUninitialized, type NodeView, readiness } from '../model/node-view.ts';
import { answeringCloud, ownershipOf } from '../model/ownership.ts';
import type { NodeTaskContext } from '../nodes/node-task-context.ts';
import type { ClaimOrder } from './claim-order.ts';
import type { routeMetrics } from './metrics.ts';
import type { OtherNode, RoutedNode } from './route-plan.ts';

/** The dependencies that all parts of the route task share. */
export interface RouteContext extends NodeTaskContext {
  /** Fenced, and withheld while everything is paused. */
  readonly api: KubeApi;
  readonly metrics: MetricsOf<typeof routeMetrics>;
  readonly shipped: ShippedObjects;
  /** A permit for calls about one Node or none; `paused` returns whether that Node is paused. */
  permit(paused?: () => boolean): Permit;
  /** UID of the namespace kube-system. Read once per term. A KubeError is retried. */
  clusterUid(): Promise<string>;
}

/**
 * The configured cloud whose route table gets the routes of this Node; undefined for foreign Nodes, for those that wait
 * for initialisation, and where several scopes may have its instance.
 */
export function routedBy(node: NodeView, configured: readonly ConfiguredCloud[]): ConfiguredCloud | undefined {
  if (isUninitialized(node)) return undefined;
  const cloud = answeringCloud(node, configured);
  return cloud?.api?.routes && cloud;
}

/**
 * The Nodes of a scope and all others, as input of `planRoutes`, and the ranges of Nodes that may turn out to be in the
 * scope.
 */
export function nodesOfScope(
  nodes: Iterable<NodeView>,
  configured: readonly ConfiguredCloud[],
  scope: string,
  order: ClaimOrder = { of: () => 0 },
): {
  readonly nodes: readonly RoutedNode[];
  readonly others: readonly OtherNode[];
  readonly undecided: readonly string[];
} {
  const found = { nodes: [] as RoutedNode[], others: [] as OtherNode[], undecided: [] as string[] };
  for (const node of nodes) {
    if (node.podCIDRs.length === 0) continue;
    const cloud = routedBy(node, configured);
    if (cloud?.scope === scope) {
      found.nodes.push(routedNode(node, order.of(node)));
      continue;
    }
    const { name, createdAtMs, podCIDRs } = node;
    found.others.push({ name, createdAtMs, claimedAt: order.of(node), podCIDRs });
    if (cloud === undefined && mayBeIn(node, configured, scope)) found.undecided.push(...node.podCIDRs);
  }
  return found;
}

function mayBeIn(node: NodeView, configured: readonly ConfiguredCloud[], scope: string): boolean {
  const ownership = ownershipOf(node, configured);
  return ownership.kind !== 'foreign' && ownership.clouds.some((cloud) => cloud.scope === scope);
}

function routedNode(node: NodeView, claimedAt: number): RoutedNode {
  const { name, uid, createdAtMs, providerID, podCIDRs } = node;
  const addresses = node.addresses.filter(({ type }) => type === 'InternalIP').map(({ address }) => address);
  return {
    name,
    uid,
    createdAtMs,
    claimedAt,
    providerID,
    podCIDRs,
    addresses,
    paused: isPaused(node),
    ready: readiness(node) === 'True',
  };
}
