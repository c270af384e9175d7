import { append } from '../append.ts';
import type { DesiredRoute, ObservedRoute, RouteTable } from '../clouds/routes.ts';
import { type Cidr, parseCidr, reaches } from './cidr.ts';
import type { RouteReason } from './reasons.ts';

/** A Node whose pods are to be routed in one scope. */
export interface RoutedNode {
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number;
  readonly providerID: string;
  readonly podCIDRs: readonly string[];
  readonly addresses: readonly string[];
  /** Nothing is made for it and nothing of it is taken away. */
  readonly paused: boolean;
  /** Its kubelet says that it is ready: then a route to it that drops packets is at fault, not a machine that is off. */
  readonly ready: boolean;
}

export interface RoutesInput<R extends ObservedRoute> {
  /** UID of the namespace kube-system. */
  readonly cluster: string;
  readonly clusterCidrs: readonly Cidr[];
  readonly nodes: readonly RoutedNode[];
  /** Pod ranges of Nodes of which it is not known yet whether their instance is in this scope: routes to those ranges stay. */
  readonly undecided: readonly string[];
  readonly table: RouteTable<R>;
  /** For clouds that cannot tag: whether a route to this range was recorded while its Node lived; `instance` undefined = to any instance. */
  recorded(destination: string, instance: string | undefined): boolean;
  /** One text for one instance, however its providerID is spelled. */
  instanceOf(providerID: string): string;
  /** Whether a route that leads to the right instance and drops packets may be made anew. Default: yes. */
  readonly mayMend?: (destination: string) => boolean;
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

/** What brings the route table of one scope to what its Nodes need. */
export interface RoutePlan<R extends ObservedRoute> {
  readonly keep: readonly KeptRoute<R>[];
  readonly create: readonly RouteCreation<R>[];
  readonly remove: readonly RouteRemoval<R>[];
  readonly blocked: readonly BlockedRoute[];
  /** Routes within the cluster's ranges that lead to none of its Nodes and are not ours: left alone. */
  readonly foreign: readonly R[];
}

interface Want {
  readonly node: RoutedNode;
  readonly instance: string;
}

/** Pure. Idempotent: planned again after it was carried out, nothing is left to do. */
export function planRoutes<R extends ObservedRoute>(input: RoutesInput<R>): RoutePlan<R> {
  const { table, nodes, recorded, instanceOf, mayMend = () => true, parse = parseCidr } = input;
  const plan = {
    keep: [] as KeptRoute<R>[],
    create: [] as RouteCreation<R>[],
    remove: [] as RouteRemoval<R>[],
    blocked: [] as BlockedRoute[],
    foreign: [] as R[],
  };
  const byDestination = new Map<string, R[]>();
  for (const route of table.routes) append(byDestination, parse(route.destination)?.text ?? route.destination, route);

  const instances = new Map<string, RoutedNode>();
  const wants = new Map<string, Want[]>();
  // The first to register comes first, everywhere: in duplicates and when the quota is short.
  const inOrder = [...nodes].sort((a, b) => a.createdAtMs - b.createdAtMs || (a.name < b.name ? -1 : 1));
  for (const node of inOrder) {
    const instance = instanceOf(node.providerID);
    instances.set(instance, node);
    for (const text of node.podCIDRs) {
      const destination = parse(text)?.text;
      if (destination !== undefined) append(wants, destination, { node, instance });
      else if (!node.paused)
        plan.blocked.push({
          node,
          destination: text,
          reason: 'NoRouteCreated',
          message: `pod range ${text} is no CIDR`,
        });
    }
  }
  const undecided = new Set(input.undecided.map((text) => parse(text)?.text ?? text));

  const leadsTo = (route: R) => (route.providerID === undefined ? undefined : instanceOf(route.providerID));
  const inRange = (route: R) => {
    const cidr = parse(route.destination);
    return cidr !== undefined && reaches(input.clusterCidrs, cidr);
  };
  const isOurs = (route: R, destination: string) =>
    route.ours ?? (inRange(route) && recorded(destination, leadsTo(route)));

  const missing: RouteCreation<R>[] = [];
  for (const [destination, wanting] of wants) {
    const routes = byDestination.get(destination) ?? [];
    const holder = holderOf(wanting, routes.map(leadsTo));
    for (const { node } of wanting)
      if (node !== holder.node && !node.paused)
        plan.blocked.push({
          node,
          destination,
          reason: 'DuplicatePodCIDR',
          message: `${destination} is the pod range of Node ${holder.node.name} too`,
        });
    const right = routes.find((route) => leadsTo(route) === holder.instance);
    if (
      right?.blackhole &&
      holder.node.ready &&
      !holder.node.paused &&
      isOurs(right, destination) &&
      mayMend(destination)
    ) {
      const held = new Set(wanting.map(({ instance }) => instance));
      const astray = routes.filter((route) => isOurs(route, destination) && !held.has(leadsTo(route) ?? ''));
      missing.push({
        desired: desiredRoute(input.cluster, holder.node, destination),
        instead: [right, ...astray],
      });
      continue;
    }
    if (right) {
      plan.keep.push({ node: holder.node, destination, route: right });
      const held = new Set(wanting.map(({ instance }) => instance));
      for (const route of holder.node.paused ? [] : routes)
        if (isOurs(route, destination) && !held.has(leadsTo(route) ?? ''))
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
      missing.push({ desired: desiredRoute(input.cluster, holder.node, destination), instead: routes });
    }
  }
  withinQuota(table, missing, nodes, plan);

  for (const [destination, routes] of byDestination) {
    if (wants.has(destination)) continue;
    for (const route of routes) {
      if (isOurs(route, destination)) {
        if (undecided.has(destination)) continue;
        const leads = leadsTo(route);
        const node = leads === undefined ? undefined : instances.get(leads);
        if (node?.paused) continue;
        const why = route.blackhole ? 'Blackhole' : node === undefined ? 'NodeGone' : 'Unwanted';
        plan.remove.push({ route, destination, why, node: node?.name });
      } else if (inRange(route)) {
        plan.foreign.push(route);
      }
    }
  }
  return plan;
}

/** Who has the route keeps it; else the first. */
function holderOf(wanting: readonly Want[], leads: readonly (string | undefined)[]): Want {
  return wanting.find(({ instance }) => leads.includes(instance)) ?? wanting[0]!;
}

function desiredRoute(cluster: string, node: RoutedNode, destination: string): DesiredRoute {
  const { name, uid, providerID, addresses } = node;
  return { cluster, node: name, nodeUid: uid, destination, providerID, addresses };
}

/** Replacing takes no room; of the rest, those beyond the quota are not even tried. */
function withinQuota<R extends ObservedRoute>(
  { quota }: RouteTable<R>,
  missing: readonly RouteCreation<R>[],
  nodes: readonly RoutedNode[],
  plan: { readonly create: RouteCreation<R>[]; readonly blocked: BlockedRoute[] },
): void {
  let free = quota === undefined ? Number.POSITIVE_INFINITY : quota.limit - quota.used;
  const byUid = new Map(nodes.map((node) => [node.uid, node]));
  for (const creation of missing) {
    const { desired, instead } = creation;
    const node = byUid.get(desired.nodeUid);
    if (instead.length > 0 || free > 0) {
      plan.create.push(creation);
      if (instead.length === 0) free -= 1;
    } else if (node) {
      const message = `the route table holds ${quota?.used} routes of at most ${quota?.limit}`;
      plan.blocked.push({ node, destination: desired.destination, reason: 'QuotaExceeded', message });
    }
  }
}
