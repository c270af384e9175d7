import type { ObservedRoute } from '../clouds/routes.ts';
import { parseCidr, reaches } from '../model/cidr.ts';
import { claimsOf, type RouteClaims, type RoutedClaim } from './route-claims.ts';
import type {
  BlockedRoute,
  KeptRoute,
  RouteCreation,
  RoutePlan,
  RouteRemoval,
  RoutesInput,
  ToleratedRoute,
} from './route-plan.ts';
import { withinQuota } from './table-quota.ts';

interface Planning<R extends ObservedRoute> extends RouteClaims<R>, ReturnType<typeof routeFacts<R>> {
  readonly input: RoutesInput<R>;
  readonly plan: ReturnType<typeof emptyPlan<R>>;
}

/** Plans the route table of one scope. Pure. Idempotent: after a plan was executed, the next one is empty. */
export function planRoutes<R extends ObservedRoute>(input: RoutesInput<R>): RoutePlan<R> {
  const plan = emptyPlan<R>();
  const claims = claimsOf(input);
  const { candidatesByRange, refused } = claims;
  const planning: Planning<R> = { ...claims, ...routeFacts(input), input, plan };
  plan.blocked.push(...claims.unreadable);
  const missing: RouteCreation<R>[] = [];
  const held = new Set<string>();
  for (const [destination, candidates] of candidatesByRange) {
    planRefused(planning, destination, candidates);
    const holder = candidates.find((candidate) => !refused.has(candidate));
    if (holder === undefined) continue;
    held.add(destination);
    const creation = planHeld(planning, destination, holder, candidates);
    if (creation !== undefined) missing.push(creation);
  }
  withinQuota(input.table, missing, input.nodes, plan);
  planUnheld(planning, held);
  return plan;
}

function emptyPlan<R extends ObservedRoute>() {
  return {
    keep: [] as KeptRoute<R>[],
    tolerated: [] as ToleratedRoute<R>[],
    create: [] as RouteCreation<R>[],
    remove: [] as RouteRemoval<R>[],
    blocked: [] as BlockedRoute[],
    foreign: [] as R[],
  };
}

function routeFacts<R extends ObservedRoute>({ bounds, instanceOf, recorded, parse = parseCidr }: RoutesInput<R>) {
  const leadsTo = (route: R) => (route.providerID === undefined ? undefined : instanceOf(route.providerID));
  const inRange = (route: R) => {
    const cidr = parse(route.destination);
    return cidr !== undefined && reaches(bounds.clusterCidrs, cidr);
  };
  // A record is a sufficient proof: routes that were created under other flags must not stay for ever.
  const isOurs = (route: R, destination: string) => route.ours ?? recorded(destination, leadsTo(route), route.via);
  return { leadsTo, inRange, isOurs };
}

/** Claims that get no route. A route that one has already stays where only its range is not allowed. */
function planRefused<R extends ObservedRoute>(
  { plan, refused, routesByDestination, leadsTo }: Planning<R>,
  destination: string,
  candidates: readonly RoutedClaim[],
): void {
  for (const candidate of candidates) {
    const refusal = refused.get(candidate);
    if (refusal === undefined) continue;
    const { routed: node, instance } = candidate;
    const existing = routesByDestination.get(destination)?.find((route) => leadsTo(route) === instance);
    if (existing && refusal.reason === 'CIDRNotAllowed')
      plan.tolerated.push({ node, destination, route: existing, message: refusal.message });
    else if (!node.paused) plan.blocked.push({ node, destination, ...refusal });
  }
}

/** The routes to a range that a Node holds; answers the one to create. */
function planHeld<R extends ObservedRoute>(
  { input, plan, routesByDestination, leadsTo, isOurs }: Planning<R>,
  destination: string,
  { routed: node, instance }: RoutedClaim,
  candidates: readonly RoutedClaim[],
): RouteCreation<R> | undefined {
  const routes = routesByDestination.get(destination) ?? [];
  const candidateInstances = new Set(candidates.map((candidate) => candidate.instance));
  const isAstray = (route: R) => !candidateInstances.has(leadsTo(route) ?? '');
  const right = routes.find((route) => leadsTo(route) === instance);
  const { name, uid: nodeUid, providerID, addresses } = node;
  const desired = { cluster: input.cluster, node: name, nodeUid, destination, providerID, addresses };
  if (right && !node.paused && isOurs(right, destination)) {
    const isReplaced = right.blackhole && node.ready && (input.mayReplaceBlackhole?.(destination) ?? true);
    const completes = right.incomplete === true && !right.blackhole;
    const wrong = routes.filter(
      (route) => route !== right && isOurs(route, destination) && (route.blackhole || isAstray(route)),
    );
    if (isReplaced || completes) return { desired, instead: isReplaced ? [right, ...wrong] : wrong, completes };
  }
  if (right) {
    plan.keep.push({ node, destination, route: right });
    for (const route of node.paused ? [] : routes)
      if (isOurs(route, destination) && isAstray(route))
        plan.remove.push({ route, destination, why: 'Superseded', node: undefined });
    return undefined;
  }
  if (node.paused) return undefined;
  const foreign = routes.find((route) => !isOurs(route, destination));
  if (foreign === undefined) return { desired, instead: routes, completes: false };
  const target = foreign.providerID ?? (foreign.blackhole ? 'nothing' : 'something that is no instance here');
  const message = `route ${foreign.id} to ${destination} leads to ${target} and is not ours`;
  plan.blocked.push({ node, destination, reason: 'ForeignRoute', message });
  return undefined;
}

/** Routes to destinations that no Node holds. */
function planUnheld<R extends ObservedRoute>(
  { input, plan, routesByDestination, candidatesByRange, nodesByInstance, leadsTo, inRange, isOurs }: Planning<R>,
  held: ReadonlySet<string>,
): void {
  const { parse = parseCidr } = input;
  const undecided = new Set(input.undecided.map((text) => parse(text)?.text ?? text));
  for (const [destination, routes] of routesByDestination) {
    if (held.has(destination)) continue;
    for (const route of routes) {
      const leads = leadsTo(route);
      if (candidatesByRange.get(destination)?.some(({ instance }) => instance === leads)) continue;
      if (isOurs(route, destination)) {
        if (undecided.has(destination)) continue;
        const node = leads === undefined ? undefined : nodesByInstance.get(leads);
        if (node?.paused) continue;
        const why = route.blackhole && leads === undefined ? 'Blackhole' : node === undefined ? 'NodeGone' : 'Unwanted';
        plan.remove.push({ route, destination, why, node: node?.name });
      } else if (inRange(route)) {
        plan.foreign.push(route);
      }
    }
  }
}
