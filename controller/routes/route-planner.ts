import type { DesiredRoute, ObservedRoute } from '../clouds/routes.ts';
import { parseCidr, reaches } from '../model/cidr.ts';
import { append } from '../runtime/append.ts';
import { type RangeClaim, refusedClaims } from './allowed-ranges.ts';
import type {
  BlockedRoute,
  KeptRoute,
  RouteCreation,
  RoutedNode,
  RoutePlan,
  RouteRemoval,
  RoutesInput,
  ToleratedRoute,
} from './route-plan.ts';
import { withinQuota } from './table-quota.ts';

interface RangeCandidate extends RangeClaim {
  readonly routed: RoutedNode;
  readonly instance: string;
}

/** Plans the route table of one scope. Pure. Idempotent: after a plan was executed, the next one is empty. */
export function planRoutes<R extends ObservedRoute>(input: RoutesInput<R>): RoutePlan<R> {
  const { table, nodes, recorded, instanceOf, mayReplaceBlackhole = () => true, parse = parseCidr } = input;
  const plan = {
    keep: [] as KeptRoute<R>[],
    tolerated: [] as ToleratedRoute<R>[],
    create: [] as RouteCreation<R>[],
    remove: [] as RouteRemoval<R>[],
    blocked: [] as BlockedRoute[],
    foreign: [] as R[],
  };
  const byDestination = new Map<string, R[]>();
  for (const route of table.routes) append(byDestination, parse(route.destination)?.text ?? route.destination, route);
  const leadsTo = (route: R) => (route.providerID === undefined ? undefined : instanceOf(route.providerID));

  const instances = new Map<string, RoutedNode>();
  const candidatesByRange = new Map<string, RangeCandidate[]>();
  // The first Node to register wins, both for duplicate ranges and for a short quota.
  const inOrder = [...nodes].sort((a, b) => a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1));
  for (const node of inOrder) {
    const instance = instanceOf(node.providerID);
    instances.set(instance, node);
    for (const text of node.podCIDRs) {
      const range = parse(text);
      if (range !== undefined) {
        const hasRoute = (byDestination.get(range.text) ?? []).some((route) => leadsTo(route) === instance);
        const { name, createdAtMs, claimedAt } = node;
        append(candidatesByRange, range.text, {
          node: name,
          createdAtMs,
          claimedAt,
          range,
          hasRoute,
          routed: node,
          instance,
        });
      } else if (!node.paused)
        plan.blocked.push({
          node,
          destination: text,
          reason: 'NoRouteCreated',
          message: `pod range ${text} is no CIDR`,
        });
    }
  }
  const undecided = new Set(input.undecided.map((text) => parse(text)?.text ?? text));
  const claims: RangeClaim[] = [...candidatesByRange.values()].flat();
  for (const { name, createdAtMs, claimedAt, podCIDRs } of input.others)
    for (const range of podCIDRs.map(parse))
      if (range !== undefined) claims.push({ node: name, createdAtMs, claimedAt, range, hasRoute: false });
  const refused = refusedClaims(claims, input.bounds, input.vmAddresses);

  const inRange = (route: R) => {
    const cidr = parse(route.destination);
    return cidr !== undefined && reaches(input.bounds.clusterCidrs, cidr);
  };
  // A record is a sufficient proof: routes that were created under other flags must not stay for ever.
  const isOurs = (route: R, destination: string) => route.ours ?? recorded(destination, leadsTo(route), route.via);

  const missing: RouteCreation<R>[] = [];
  const held = new Set<string>();
  for (const [destination, candidates] of candidatesByRange) {
    const routes = byDestination.get(destination) ?? [];
    for (const candidate of candidates) {
      const refusal = refused.get(candidate);
      const existing = refusal && routes.find((route) => leadsTo(route) === candidate.instance);
      if (existing && refusal.reason === 'CIDRNotAllowed')
        plan.tolerated.push({ node: candidate.routed, destination, route: existing, message: refusal.message });
      else if (refusal && !candidate.routed.paused)
        plan.blocked.push({ node: candidate.routed, destination, ...refusal });
    }
    const allowed = candidates.find((candidate) => !refused.has(candidate));
    if (allowed === undefined) continue;
    held.add(destination);
    const holder = { node: allowed.routed, instance: allowed.instance };
    const candidateInstances = new Set(candidates.map(({ instance }) => instance));
    const right = routes.find((route) => leadsTo(route) === holder.instance);
    const desired = desiredRoute(input.cluster, holder.node, destination);
    if (right && !holder.node.paused && isOurs(right, destination)) {
      const isReplaced = right.blackhole && holder.node.ready && mayReplaceBlackhole(destination);
      const completes = right.incomplete === true && !right.blackhole;
      const isWrong = (route: R) => route.blackhole || !candidateInstances.has(leadsTo(route) ?? '');
      const astray = routes.filter((route) => route !== right && isOurs(route, destination) && isWrong(route));
      if (isReplaced || completes) {
        missing.push({ desired, instead: isReplaced ? [right, ...astray] : astray, completes });
        continue;
      }
    }
    if (right) {
      plan.keep.push({ node: holder.node, destination, route: right });
      for (const route of holder.node.paused ? [] : routes)
        if (isOurs(route, destination) && !candidateInstances.has(leadsTo(route) ?? ''))
          plan.remove.push({ route, destination, why: 'Superseded', node: undefined });
      continue;
    }
    if (holder.node.paused) continue;
    const foreign = routes.find((route) => !isOurs(route, destination));
    if (foreign) {
      const target = foreign.providerID ?? (foreign.blackhole ? 'nothing' : 'something that is no instance here');
      plan.blocked.push({
        node: holder.node,
        destination,
        reason: 'ForeignRoute',
        message: `route ${foreign.id} to ${destination} leads to ${target} and is not ours`,
      });
    } else {
      missing.push({ desired, instead: routes, completes: false });
    }
  }
  withinQuota(table, missing, nodes, plan);

  for (const [destination, routes] of byDestination) {
    if (held.has(destination)) continue;
    for (const route of routes) {
      const leads = leadsTo(route);
      if (candidatesByRange.get(destination)?.some(({ instance }) => instance === leads)) continue;
      if (isOurs(route, destination)) {
        if (undecided.has(destination)) continue;
        const node = leads === undefined ? undefined : instances.get(leads);
        if (node?.paused) continue;
        const why = route.blackhole && leads === undefined ? 'Blackhole' : node === undefined ? 'NodeGone' : 'Unwanted';
        plan.remove.push({ route, destination, why, node: node?.name });
      } else if (inRange(route)) {
        plan.foreign.push(route);
      }
    }
  }
  return plan;
}

function desiredRoute(cluster: string, node: RoutedNode, destination: string): DesiredRoute {
  const { name, uid, providerID, addresses } = node;
  return { cluster, node: name, nodeUid: uid, destination, providerID, addresses };
}
