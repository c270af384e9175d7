import type { Clock } from '../../../common/process/clock.ts';
import { errorFields } from '../../../common/process/log.ts';
import { parseCidr } from '../../model/cidr.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import type { NodeView } from '../../model/node-view.ts';
import type { RouteBounds } from '../../model/route-bounds.ts';
import type { Resolver } from '../../nodes/resolve.ts';
import { instanceOf, nodesOfScope } from '../../routes/route-context.ts';
import { planRoutes } from '../../routes/route-planner.ts';
import type { RouteRecords } from '../../routes/route-records.ts';
import { createVmAddresses } from '../../routes/vm-addresses.ts';
import type { Plan, PlannedChange } from './planned-change.ts';

export interface RoutePlanParts {
  /** UID of the namespace kube-system. */
  readonly cluster: string;
  readonly bounds: RouteBounds;
  readonly clock: Clock;
  readonly resolver: Resolver;
  readonly clouds: readonly ConfiguredCloud[];
  readonly nodes: { values(): Iterable<NodeView> };
  readonly records: RouteRecords;
}

/**
 * Plans the changes of the route tables with the plan of the route task. Removals would still need a budget and an
 * approval. Reads the clouds; changes nothing.
 */
export async function planRouteTables(parts: RoutePlanParts): Promise<Plan> {
  const changes: PlannedChange[] = [];
  const problems: string[] = [];
  for (const cloud of parts.clouds) {
    if (cloud.api?.routes === undefined) continue;
    try {
      changes.push(...(await planScope(parts, cloud)));
    } catch (error) {
      problems.push(`routes of ${cloud.scope}: ${errorFields(error)['error']}`);
    }
  }
  return { changes, problems };
}

async function planScope(
  parts: RoutePlanParts,
  { name, scope, formerScopes, api }: ConfiguredCloud,
): Promise<PlannedChange[]> {
  const { cluster, bounds, clouds, records } = parts;
  const table = await api?.routes?.observe(cluster);
  if (table === undefined) return [];
  await records.load(scope, formerScopes);
  const { nodes, others, undecided } = nodesOfScope(parts.nodes.values(), clouds, scope);
  const vmAddresses = createVmAddresses({ ...parts, clusterCidrs: bounds.clusterCidrs, parse: parseCidr });
  await vmAddresses.refresh();
  const plan = planRoutes({
    cluster,
    bounds,
    vmAddresses: vmAddresses.counted(),
    nodes,
    others,
    undecided,
    table,
    recorded: (destination, instance) => records.has(scope, destination, instance),
    instanceOf: (providerID) => instanceOf(name, providerID),
  });
  const row = (destination: string, action: PlannedChange['action'], what: string): PlannedChange => ({
    of: scope,
    object: `route ${destination}`,
    action,
    what,
  });
  return [
    ...plan.create.map(({ desired: { destination, node, providerID }, instead }) =>
      row(
        destination,
        instead.length > 0 ? 'update' : 'create',
        `to ${providerID} (Node ` +
          `${node})${instead.length > 0 ? `, instead of ${instead.length} that lead elsewhere or nowhere` : ''}`,
      ),
    ),
    ...plan.remove.map(({ destination, why, route }) =>
      row(destination, 'delete', `to ${route.providerID ?? 'nothing'}: ${why}`),
    ),
    ...plan.tolerated.map(({ destination, message }) => row(destination, 'hold', `CIDRNotAllowed: ${message}`)),
    ...plan.blocked.map(({ destination, reason, message }) => row(destination, 'hold', `${reason}: ${message}`)),
    ...nodes
      .filter(({ paused }) => paused)
      .flatMap((node) =>
        node.podCIDRs.map((destination) => row(destination, 'hold', `its Node ${node.name} is paused`)),
      ),
  ];
}
