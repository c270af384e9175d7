import type { DesiredRoute, ObservedRoute, RouteTable } from '../clouds/routes.ts';
import type { Cidr } from '../model/cidr.ts';
import type { RouteBounds } from '../model/route-bounds.ts';
import type { VmAddress } from './allowed-ranges.ts';
import type { RouteReason } from './reasons.ts';

/** A Node whose pods are to be routed in one scope. */
export interface RoutedNode {
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number;
  /** See ClaimOrder. */
  readonly claimedAt: number;
  readonly providerID: string;
  readonly podCIDRs: readonly string[];
  readonly addresses: readonly string[];
  /** Nothing is made for it and nothing of it is taken away. */
  readonly paused: boolean;
  /** Its kubelet says that it is ready: then a route to it that drops packets is at fault, not a machine that is off. */
  readonly ready: boolean;
}

/** A Node of another scope, or of none: nothing is made for it here, but its pod ranges are its own. */
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
  /** Addresses of VMs inside the cluster's ranges: no route may lead them elsewhere. Default: none. */
  readonly vmAddresses?: readonly VmAddress[];
  readonly nodes: readonly RoutedNode[];
  readonly others: readonly OtherNode[];
  /** Pod ranges of Nodes of which it is not known yet whether their instance is in this scope: routes to those ranges stay. */
  readonly undecided: readonly string[];
  readonly table: RouteTable<R>;
  /**
   * For clouds that cannot tag: whether a route to this range was recorded while its Node lived; `instance` undefined =
   * to any instance.
   */
  recorded(destination: string, instance: string | undefined): boolean;
  /** One text for one instance, however its providerID is spelled. */
  instanceOf(providerID: string): string;
  /** Whether a route that leads to the right instance and drops packets may be made anew. Default: yes. */
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
  /** Routes of ours that have the destination and lead nowhere or elsewhere, or drop packets; removed first. */
  readonly instead: readonly R[];
}

/**
 * `Blackhole`: its instance is gone, as the cloud says. `Superseded`: the Node that has the range now has a route of its own. `NodeGone`: no Node has that instance.
 * `Unwanted`: a Node has the instance, but not the range. The last two take traffic away from an instance that may be alive.
 */
export interface RouteRemoval<R extends ObservedRoute> {
  readonly route: R;
  readonly destination: string;
  readonly why: 'Blackhole' | 'Superseded' | 'NodeGone' | 'Unwanted';
  /** Name of the Node that has the instance, if one has. */
  readonly node: string | undefined;
}

export interface BlockedRoute {
  readonly node: RoutedNode;
  readonly destination: string;
  readonly reason: Exclude<RouteReason, 'RouteCreated'>;
  readonly message: string;
}

/** A route that would not be made today: it stays while its Node lives, and the Node is told. */
export interface ToleratedRoute<R extends ObservedRoute> extends KeptRoute<R> {
  readonly message: string;
}

/** What brings the route table of one scope to what its Nodes need. */
export interface RoutePlan<R extends ObservedRoute> {
  readonly keep: readonly KeptRoute<R>[];
  readonly tolerated: readonly ToleratedRoute<R>[];
  readonly create: readonly RouteCreation<R>[];
  readonly remove: readonly RouteRemoval<R>[];
  readonly blocked: readonly BlockedRoute[];
  /** Routes within the cluster's ranges that lead to none of its Nodes and are not ours: left alone. */
  readonly foreign: readonly R[];
}
