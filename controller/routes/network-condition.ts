import { conditions } from '../../common/well-known.ts';
import { conditionOf, type NodeView } from '../model/node-view.ts';
import { type ConditionChange, waitsForRoutes } from '../nodes/patches.ts';
import { isRouteReason, type RouteReason } from './reasons.ts';

/**
 * The status of the route to one pod range of a Node. `pending`: not tried yet, so there is nothing to report.
 * `tolerated`: the route exists and would not be created today.
 */
export type RouteStatus =
  | { readonly kind: 'routed' }
  | { readonly kind: 'tolerated'; readonly message: string }
  | { readonly kind: 'pending' }
  | { readonly kind: 'missing'; readonly reason: Exclude<RouteReason, 'RouteCreated'>; readonly message: string };

/**
 * The desired condition NetworkUnavailable for the routes of a Node; undefined: leave it. A missing route comes first:
 * one range without a route is enough. A more specific reason replaces `NoRouteCreated`.
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
 * The condition to write: only when its status or reason differs, as upstream does, and never over the reason of a
 * network plugin. Undefined: leave it.
 */
export function networkChange(node: NodeView, routeStatuses: readonly RouteStatus[]): ConditionChange | undefined {
  const desired = networkCondition(routeStatuses);
  if (desired === undefined) return undefined;
  const held = conditionOf(node, desired.type);
  if (held !== undefined && !isRouteReason(held.reason)) return undefined;
  if (held?.status !== desired.status || held.reason !== desired.reason) return desired;
  // The message from the Node's initialisation is less specific than the current one.
  return held.message === waitsForRoutes.message && desired.message !== held.message ? desired : undefined;
}
