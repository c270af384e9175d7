import { conditions } from '../../common/well-known.ts';
import { conditionOf, type NodeView } from '../model/node-view.ts';
import { type ConditionChange, waitsForRoutes } from '../nodes/patches.ts';
import { isRouteReason, type RouteReason } from './reasons.ts';

/**
 * Where the route to one pod range of a Node stands. `pending`: not tried yet, so nothing is known that should be said.
 * `tolerated`: the route is there and would not be made today.
 */
export type RouteStatus =
  | { readonly kind: 'routed' }
  | { readonly kind: 'tolerated'; readonly message: string }
  | { readonly kind: 'pending' }
  | { readonly kind: 'missing'; readonly reason: Exclude<RouteReason, 'RouteCreated'>; readonly message: string };

/**
 * What NetworkUnavailable should say, given the routes of a Node; undefined = leave it. What is missing is said first: one range without a route is enough.
 * `NoRouteCreated` gives way to a reason that says more.
 */
export function networkCondition(routeStatuses: readonly RouteStatus[]): ConditionChange | undefined {
  const type = conditions.networkUnavailable;
  const missing = routeStatuses.filter((status) => status.kind === 'missing');
  const worst = missing.find(({ reason }) => reason !== 'NoRouteCreated') ?? missing[0];
  if (worst) return { type, status: 'True', reason: worst.reason, message: worst.message };
  if (routeStatuses.length === 0 || routeStatuses.some(({ kind }) => kind === 'pending')) return undefined;
  const tolerated = routeStatuses.find((status) => status.kind === 'tolerated');
  if (tolerated) return { type, status: 'False', reason: 'CIDRNotAllowed', message: tolerated.message };
  return { type, status: 'False', reason: 'RouteCreated', message: 'RouteController created a route' };
}

/**
 * Whether the Node's condition must be written: only when its status or reason differs, as upstream does, and never over the reason of a network plugin. Undefined =
 * leave it.
 */
export function networkChange(node: NodeView, routeStatuses: readonly RouteStatus[]): ConditionChange | undefined {
  const desired = networkCondition(routeStatuses);
  if (desired === undefined) return undefined;
  const held = conditionOf(node, desired.type);
  if (held !== undefined && !isRouteReason(held.reason)) return undefined;
  if (held?.status !== desired.status || held.reason !== desired.reason) return desired;
  // What the Node was opened with says less than what is known by now.
  return held.message === waitsForRoutes.message && desired.message !== held.message ? desired : undefined;
}
