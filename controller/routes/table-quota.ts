import type { ObservedRoute, RouteTable } from '../clouds/routes.ts';
import type { BlockedRoute, RouteCreation, RoutedNode } from './route-plan.ts';

/**
 * Splits the missing routes by the quota: replacements and routes that some tables have need no room, and creations
 * beyond the quota are blocked without a try.
 */
export function withinQuota<R extends ObservedRoute>(
  { quota }: RouteTable<R>,
  missing: readonly RouteCreation<R>[],
  nodes: readonly RoutedNode[],
  plan: { readonly create: RouteCreation<R>[]; readonly blocked: BlockedRoute[] },
): void {
  let free = quota === undefined ? Number.POSITIVE_INFINITY : quota.limit - quota.used;
  const byUid = new Map(nodes.map((node) => [node.uid, node]));
  for (const creation of missing) {
    const { desired, instead, completes } = creation;
    const needsRoom = instead.length === 0 && !completes;
    const node = byUid.get(desired.nodeUid);
    if (!needsRoom || free > 0) {
      plan.create.push(creation);
      if (needsRoom) free -= 1;
    } else if (node) {
      const message = `the route table holds ${quota?.used} routes of at most ${quota?.limit}`;
      plan.blocked.push({ node, destination: desired.destination, reason: 'QuotaExceeded', message });
    }
  }
}
