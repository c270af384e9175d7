import type { ObservedRoute } from '../../clouds/routes.ts';
import { parseCidr } from '../../model/cidr.ts';
import type { RouteBounds } from '../../model/route-bounds.ts';
import type { RoutedNode, RoutePlan, RoutesInput } from '../route-plan.ts';
import { planRoutes } from '../route-planner.ts';

export const bounds: RouteBounds = {
  clusterCidrs: ['10.244.0.0/16', 'fd00:10::/48'].map((text) => parseCidr(text)!),
  serviceCidrs: [],
  masks: {},
};

/** A ready Node; `n7` has the instance `sim://n7`. */
export function node(name: string, podCIDRs: readonly string[], changes: Partial<RoutedNode> = {}): RoutedNode {
  const number = Number(name.replace(/\D/g, '')) || 0;
  return {
    name,
    uid: `uid-${name}`,
    createdAtMs: number,
    claimedAt: 0,
    providerID: `sim://${name}`,
    podCIDRs,
    addresses: [`10.0.0.${number}`],
    paused: false,
    ready: true,
    ...changes,
  };
}

/** A route of ours to the instance of that Node; one to nothing is a blackhole. */
export function route(
  destination: string,
  to: string | undefined,
  changes: Partial<ObservedRoute> = {},
): ObservedRoute {
  return {
    id: `r ${destination} ${to ?? 'nothing'}`,
    destination,
    providerID: to === undefined ? undefined : `sim://${to}`,
    blackhole: to === undefined,
    ours: true,
    ...changes,
  };
}

/** Differences from a cluster without Nodes and routes. */
export type Input = Partial<RoutesInput<ObservedRoute>> & { readonly routes?: readonly ObservedRoute[] };

export function plan({ routes = [], ...input }: Input): RoutePlan<ObservedRoute> {
  return planRoutes({
    cluster: 'cluster',
    bounds,
    nodes: [],
    others: [],
    undecided: [],
    table: { routes, quota: undefined },
    recorded: () => false,
    instanceOf: (providerID) => providerID,
    ...input,
  });
}

/** One line for each item of a plan. */
export function told({ keep, tolerated, create, remove, blocked, foreign }: RoutePlan<ObservedRoute>): string[] {
  return [
    ...keep.map(({ node: { name }, destination }) => `keep ${destination} ${name}`),
    ...tolerated.map(({ node: { name }, destination }) => `tolerate ${destination} ${name}`),
    ...create.map(({ desired, instead, completes }) =>
      [
        `${completes ? 'complete' : 'create'} ${desired.destination} ${desired.node}`,
        ...instead.map(({ id }) => `instead of ${id}`),
      ].join(' '),
    ),
    ...remove.map(({ destination, why, route: { providerID } }) => `remove ${destination} ${why} ${providerID ?? '-'}`),
    ...blocked.map(({ node: { name }, destination, reason }) => `${reason} ${destination} ${name}`),
    ...foreign.map(({ destination }) => `foreign ${destination}`),
  ].sort();
}

export const a4 = '10.244.0.0/24';
export const b4 = '10.244.1.0/24';
export const c4 = '10.244.2.0/24';
export const a6 = 'fd00:10:0:1::/64';
export const b6 = 'fd00:10:0:2::/64';
export const n1 = node('n1', [a4]);
export const n2 = node('n2', [b4]);
