import { conditions } from '../../../common/well-known.ts';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import type { Truth } from '../actors/truth.ts';
import { endpoint } from '../engine/process.ts';
import type { Scenario } from '../engine/scenario.ts';
import { clusterUid, isOurRoute, isPlainMember, nodesIn, serviceUidOf } from './network-truth.ts';
import { nodeOf } from './node-object.ts';
import { type ServiceObject, serviceOf } from './service-object.ts';

/** Everything in which load balancers, routes and Services still differ from what they should be, in words. */
export function unmetNetwork(truth: Truth, scenario: Scenario, services: Left): string[] {
  return [...unmetServices(truth, services), ...unmetRoutes(truth, scenario)];
}

/** What Services that went left behind. */
export interface Left {
  /** Uids of those whose finalizer was taken off. */
  readonly stripped: ReadonlySet<string>;
  /** Load balancers that were to stay. */
  readonly kept: ReadonlySet<string>;
}

function unmetServices(truth: Truth, { stripped, kept }: Left): string[] {
  const unmet: string[] = [];
  const cluster = clusterUid(truth);
  const services = [...truth.core.store.collection('services').items.values()].map(({ value }) => serviceOf(value));
  const wanting = new Map(services.filter(({ wants }) => wants).map((service) => [service.uid, service]));
  const everything = truth.cloud.network.loadBalancers.store.all();
  const own = everything.filter((each) => serviceUidOf(each, cluster) !== undefined);
  for (const id of kept) {
    const one = everything.find((each) => each.id === id);
    if (one === undefined || one.state === 'deleting') unmet.push(`load balancer ${id} was to stay, and is gone`);
  }
  for (const host of everything.filter((each) => !own.includes(each)))
    for (const { id, tags } of [...host.listeners, ...host.pools]) {
      const uid = serviceUidOf({ tags }, cluster);
      if (uid !== undefined && wanting.get(uid)?.attachTo !== host.id && !stripped.has(uid))
        unmet.push(`${id} of Service ${uid} is left over on ${host.name}`);
    }
  for (const each of own) {
    const uid = serviceUidOf(each, cluster)!;
    if (!wanting.has(uid) && !stripped.has(uid)) unmet.push(`load balancer ${each.id} of Service ${uid} is left over`);
  }
  for (const service of services) {
    if (service.deleting) unmet.push(`Service ${service.name} is still being deleted (${service.reason})`);
    else if (
      service.type !== 'LoadBalancer' &&
      (service.finalizer || service.record !== '' || service.ingress.length > 0)
    )
      unmet.push(`Service ${service.name} wants none any more, and something of ours is left on it`);
  }
  for (const service of wanting.values()) {
    const mine = own.filter((each) => serviceUidOf(each, cluster) === service.uid);
    if (service.attachTo !== '') {
      const host = everything.find(({ id }) => id === service.attachTo)!;
      const say = (what: string) => unmet.push(`Service ${service.name}: ${what}`);
      const living = nodesIn(truth, host.place.split('/')[1]!).filter(({ node }) => node.ready === 'True').length;
      if (mine.length > 0) say('it asked for another load balancer than its own');
      if (host.tags[ownerTags.consent] === `${cluster}/${service.key.split('/')[0]}`)
        for (const what of unmetLoadBalancer(truth, service, host)) say(what);
      // Where no living Node is left, nothing proves for five minutes that the cloud shows us anything.
      else if (service.reason !== 'ForeignLoadBalancer' && (service.reason !== 'AwaitingCloud' || living > 0))
        say(`condition ${service.reason}, expected ForeignLoadBalancer`);
      continue;
    }
    if (mine.length !== 1) unmet.push(`Service ${service.name} has ${mine.length} load balancers (${service.reason})`);
    else unmet.push(...unmetLoadBalancer(truth, service, mine[0]!).map((what) => `Service ${service.name}: ${what}`));
  }
  return unmet;
}

type LoadBalancer = ReturnType<Truth['cloud']['network']['loadBalancers']['store']['all']>[number];

function unmetLoadBalancer(truth: Truth, service: ServiceObject, one: LoadBalancer): string[] {
  const unmet: string[] = [];
  const differ = (what: string, found: readonly string[], wanted: readonly string[]) => {
    const [a, b] = [found, wanted].map((texts) => [...texts].sort().join(' '));
    if (a !== b) unmet.push(`${what}: ${a || 'none'}, expected ${b || 'none'}`);
  };
  const region = one.place.split('/')[1]!;
  const cluster = clusterUid(truth);
  const ours = ({ tags }: { readonly tags: Readonly<Record<string, string>> }) =>
    serviceUidOf({ tags }, cluster) === service.uid;
  const listeners = one.listeners.filter(ours);
  if (one.state !== 'active') unmet.push(`its load balancer is ${one.state}`);
  differ(
    'listeners',
    listeners.map(({ protocol, port, memberPort }) => `${protocol}/${port}:${memberPort}`),
    service.ports.map(({ protocol, port, nodePort }) => `${protocol}/${port}:${nodePort}`),
  );
  for (const { sourceRanges, port } of listeners) differ(`sources of ${port}`, sourceRanges, service.sourceRanges);
  const members = nodesIn(truth, region)
    .filter(({ node }) => isPlainMember(node))
    .map(({ instance }) => instance);
  // A Node that waits for its initialisation joins nowhere and stays where it is.
  const waiting = new Set(
    nodesIn(truth, region).flatMap(({ node, instance }) => (node.uninitialized ? [instance] : [])),
  );
  for (const pool of one.pools.filter(ours))
    differ(
      'members',
      pool.members
        .filter(({ instanceId }) => !waiting.has(instanceId))
        .map(({ instanceId, weight }) => (weight === 1 ? instanceId : `(${instanceId})`)),
      members,
    );
  differ(
    'status',
    service.ingress,
    one.addresses.map(({ ip }) => ip),
  );
  differ('record', [service.record], [`${endpoint}/demo/${region} ${one.id}`]);
  if (!service.finalizer) unmet.push('no finalizer');
  const reason = members.length === 0 ? 'NoMembers' : 'Ensured';
  if (service.reason !== reason) unmet.push(`condition ${service.reason}, expected ${reason}`);
  return unmet;
}

function unmetRoutes(truth: Truth, scenario: Scenario): string[] {
  const unmet: string[] = [];
  const cluster = clusterUid(truth);
  const { routes } = truth.cloud.network;
  for (const { region, reportOnly } of scenario.clouds) {
    if (reportOnly !== undefined) continue;
    const table = routes.store.inPlace(`demo/${region}`);
    const nodes = nodesIn(truth, region).filter(({ node }) => !node.uninitialized && !node.deleting);
    const wanted = new Map(nodes.map(({ node, instance }) => [node.podCIDR, instance]));
    for (const { node, instance } of nodes) {
      if (truth.rogueRanges.has(node.name)) {
        const said = node.conditions.get(conditions.networkUnavailable);
        if (said?.status !== 'True' || said.reason !== 'CIDRNotAllowed')
          unmet.push(`Node ${node.name} claims ${node.podCIDR}: NetworkUnavailable is ${said?.status} ${said?.reason}`);
        continue;
      }
      const route = table.find(({ destination }) => destination === node.podCIDR);
      if (route?.instanceId !== instance) {
        unmet.push(`Node ${node.name}: the route to ${node.podCIDR} leads to ${route?.instanceId ?? 'nowhere'}`);
        continue;
      }
      const condition = node.conditions.get(conditions.networkUnavailable);
      if (condition?.status !== 'False')
        unmet.push(
          `Node ${node.name}: its route is there, NetworkUnavailable is ${condition?.status} ${condition?.reason}`,
        );
    }
    // The range of a Node whose instance is not known yet may be this route's.
    const undecided = new Set(
      truth
        .nodes()
        .map((value) => nodeOf(value))
        .flatMap(({ podCIDR, uninitialized, providerID }) => (uninitialized || providerID === '' ? [podCIDR] : [])),
    );
    for (const route of table)
      if (
        isOurRoute(route, cluster) &&
        wanted.get(route.destination) !== route.instanceId &&
        !undecided.has(route.destination)
      )
        unmet.push(`route ${route.id} to ${route.destination} by ${route.instanceId} is left over`);
  }
  return unmet;
}

/** Load balancers of this cluster whose Service does not exist. */
export function orphans(truth: Truth): string[] {
  const cluster = clusterUid(truth);
  const uids = new Set(
    [...truth.core.store.collection('services').items.values()].map(({ value }) => serviceOf(value).uid),
  );
  return truth.cloud.network.loadBalancers.store
    .all()
    .filter((each) => serviceUidOf(each, cluster) !== undefined && !uids.has(serviceUidOf(each, cluster)!))
    .map(({ id }) => id);
}

/** Services that wait although nothing says why: promise 12. */
export function silentServices(truth: Truth): string[] {
  return [...truth.core.store.collection('services').items.values()]
    .map(({ value }) => serviceOf(value))
    .filter(({ wants, reason }) => wants && reason === '')
    .map(({ name }) => name);
}
