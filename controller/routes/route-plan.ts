import type { DesiredRoute, ObservedRoute, RouteTable } from '../clouds/routes.ts';
import type { Cidr } from '../model/cidr.ts';
import type { RouteBounds } from '../model/route-bounds.ts';
import type { VmAddress } from './allowed-ranges.ts';
import type { RouteReason } from './reasons.ts';

/** A Node that gets pod routes in one scope. */
export interface RoutedNode {
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number;
  /** See ClaimOrder. */
  readonly claimedAt: number;
  readonly providerID: string;
  readonly podCIDRs: readonly string[];
  readonly addresses: readonly string[];
  /** Its routes are neither created nor deleted. */
  readonly paused: boolean;
  /** Ready=True: if its route drops packets, the route is broken and not the machine. */
  readonly ready: boolean;
}

/** A Node of another scope, or of none: it gets no routes here, but its pod ranges are taken. */
export interface OtherNode {
  readonly name: string;
  readonly createdAtMs: number;
  /** See ClaimOrder. */
  readonly claimedAt: number;
  readonly podCIDRs: readonly string[];
}

export interface RoutesInput<R extends ObservedRoute> {
  /** UID of the namespace kube-system. */
  readonly cluster: string;
  readonly bounds: RouteBounds;
  /** Addresses of VMs inside the cluster's ranges, which no route may divert. Default: none. */
  readonly vmAddresses?: readonly VmAddress[];
  readonly nodes: readonly RoutedNode[];
  readonly others: readonly OtherNode[];
  /** Pod ranges of Nodes whose instance may or may not be in this scope: routes to those ranges stay. */
  readonly undecided: readonly string[];
  readonly table: RouteTable<R>;
  /**
   * For routes whose tags do not tell: whether one from this range to this instance or address was recorded; `instance`
   * undefined: to anything.
   */
  recorded(destination: string, instance: string | undefined, via: string | undefined): boolean;
  /** The same key for all spellings of an instance's providerID. */
  instanceOf(providerID: string): string;
  /** Whether a route that leads to the right instance but drops packets may be replaced. Default: yes. */
  readonly mayReplaceBlackhole?: (destination: string) => boolean;
  readonly parse?: (text: string) => Cidr | undefined;
}

export interface KeptRoute<R extends ObservedRoute> {
  readonly node: RoutedNode;
  readonly destination: string;
  readonly route: R;
}

export interface RouteCreation<R extends ObservedRoute> {
  readonly desired: DesiredRoute;
  /** Our routes to the destination that lead nowhere or elsewhere, or drop packets; deleted first. */
  readonly instead: readonly R[];
  /** Some of the tables have the route already, and it stays there. */
  readonly completes: boolean;
}

/**
 * `Blackhole`: it leads to no instance and drops packets. `Superseded`: the Node that has the range now has a route of
 * its own. `NodeGone`: no Node has that instance. `Unwanted`: a Node has the instance, but not the range. The last two
 * cut the traffic to an instance that may be alive.
 */
export interface RouteRemoval<R extends ObservedRoute> {
  readonly route: R;
  readonly destination: string;
  readonly why: 'Blackhole' | 'Superseded' | 'NodeGone' | 'Unwanted';
  /** Name of the Node with that instance, if there is one. */
  readonly node: string | undefined;
}

export interface BlockedRoute {
  readonly node: RoutedNode;
  readonly destination: string;
  readonly reason: Exclude<RouteReason, 'RouteCreated'>;
  readonly message: string;
}

/** A route that would not be created today. It stays as long as its Node, and the Node's condition shows it. */
export interface ToleratedRoute<R extends ObservedRoute> extends KeptRoute<R> {
  readonly message: string;
}

/** The changes that turn the route table of one scope into the desired one. */
export interface RoutePlan<R extends ObservedRoute> {
  readonly keep: readonly KeptRoute<R>[];
  readonly tolerated: readonly ToleratedRoute<R>[];
  readonly create: readonly RouteCreation<R>[];
  readonly remove: readonly RouteRemoval<R>[];
  readonly blocked: readonly BlockedRoute[];
  /** Routes within the cluster's ranges that lead to none of its Nodes and are not ours: never changed. */
  readonly foreign: readonly R[];
}
