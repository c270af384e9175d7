import type { ObservedRoute } from '../clouds/routes.ts';
import { parseCidr } from '../model/cidr.ts';
import { append } from '../runtime/append.ts';
import { type RangeClaim, type Refusal, refusedClaims } from './allowed-ranges.ts';
import type { BlockedRoute, RoutedNode, RoutesInput } from './route-plan.ts';

/** A pod range that a Node of this scope claims, and the instance that its route leads to. */
export interface RoutedClaim extends RangeClaim {
  readonly routed: RoutedNode;
  readonly instance: string;
}

/** Destinations and ranges are in one spelling. */
export interface RouteClaims<R extends ObservedRoute> {
  readonly routesByDestination: ReadonlyMap<string, readonly R[]>;
  readonly candidatesByRange: ReadonlyMap<string, readonly RoutedClaim[]>;
  /** The claims for which no route may be created. */
  readonly refused: ReadonlyMap<RangeClaim, Refusal>;
  readonly nodesByInstance: ReadonlyMap<string, RoutedNode>;
  /** Pod ranges that cannot be read. */
  readonly unreadable: readonly BlockedRoute[];
}

/** Which Nodes claim which ranges, beside the routes that exist. Pure. */
export function claimsOf<R extends ObservedRoute>(input: RoutesInput<R>): RouteClaims<R> {
  const { table, nodes, others, bounds, vmAddresses, instanceOf, parse = parseCidr } = input;
  const routesByDestination = new Map<string, R[]>();
  for (const route of table.routes)
    append(routesByDestination, parse(route.destination)?.text ?? route.destination, route);
  const candidatesByRange = new Map<string, RoutedClaim[]>();
  const nodesByInstance = new Map<string, RoutedNode>();
  const unreadable: BlockedRoute[] = [];
  // The first Node to register wins, both for duplicate ranges and for a short quota.
  const inOrder = [...nodes].sort((a, b) => a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1));
  for (const routed of inOrder) {
    const { name: node, createdAtMs, claimedAt, podCIDRs, paused } = routed;
    const instance = instanceOf(routed.providerID);
    nodesByInstance.set(instance, routed);
    for (const text of podCIDRs) {
      const range = parse(text);
      if (range !== undefined) {
        const hasRoute = (routesByDestination.get(range.text) ?? []).some(
          ({ providerID }) => providerID !== undefined && instanceOf(providerID) === instance,
        );
        append(candidatesByRange, range.text, { node, createdAtMs, claimedAt, range, hasRoute, routed, instance });
      } else if (!paused) {
        const message = `pod range ${text} is no CIDR`;
        unreadable.push({ node: routed, destination: text, reason: 'NoRouteCreated', message });
      }
    }
  }
  const claims: RangeClaim[] = [...candidatesByRange.values()].flat();
  for (const { name, createdAtMs, claimedAt, podCIDRs } of others)
    for (const range of podCIDRs.map(parse))
      if (range !== undefined) claims.push({ node: name, createdAtMs, claimedAt, range, hasRoute: false });
  const refused = refusedClaims(claims, bounds, vmAddresses);
  return { routesByDestination, candidatesByRange, refused, nodesByInstance, unreadable };
}
