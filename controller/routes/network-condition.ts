import { conditions } from '../../common/well-known.ts';
import { conditionOf, type NodeView } from '../model/node-view.ts';
import { type ConditionChange, waitsForRoutes } from '../nodes/patches.ts';
import { isRouteReason, type RouteReason } from './reasons.ts';

/**
 * Where the route to one pod range of a Node stands. `pending`: not tried yet, so nothing is known that should be said.
 * `tolerated`: the route is there and would not be made today.
 */
export type Standing =
  | { readonly kind: 'routed' }
  | { readonly kind: 'tolerated'; readonly message: string }
  | { readonly kind: 'pending' }
  | { readonly kind: 'missing'; readonly reason: Exclude<RouteReason, 'RouteCreated'>; readonly message: string };

/**
 * What NetworkUnavailable should say, given the routes of a Node; undefined = leave it. What is missing is said first: one range without a route is enough.
 * `NoRouteCreated` gives way to a reason that says more.
 */
export function networkCondition(standings: readonly Standing[]): ConditionChange | undefined {
  const type = conditions.networkUnavailable;
  const missing = standings.filter((standing) => standing.kind === 'missing');
  const worst = missing.find(({ reason }) => reason !== 'NoRouteCreated') ?? missing[0];
  if (worst) return { type, status: 'True', reason: worst.reason, message: worst.message };
  if (standings.length === 0 || standings.some(({ kind }) => kind === 'pending')) return undefined;
  const tolerated = standings.find((standing) => standing.kind === 'tolerated');
  if (tolerated) return { type, status: 'False', reason: 'CIDRNotAllowed', message: tolerated.message };
  return { type, status: 'False', reason: 'RouteCreated', message: 'RouteController created a route' };
}

/**
 * Whether the Node's condition must be written: only when its status or reason differs, as upstream does, and never over the reason of a network plugin. Undefined =
 * leave it.
 */
export function networkChange(node: NodeView, standings: readonly Standing[]): ConditionChange | undefined {
  const wanted = networkCondition(standings);
  if (wanted === undefined) return undefined;
  const held = conditionOf(node, wanted.type);
  if (held !== undefined && !isRouteReason(held.reason)) return undefined;
  if (held?.status !== wanted.status || held.reason !== wanted.reason) return wanted;
  // What the Node was opened with says less than what is known by now.
  return held.message === waitsForRoutes.message && wanted.message !== held.message ? wanted : undefined;
}
