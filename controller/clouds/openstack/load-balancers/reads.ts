import { CloudError } from '../../../../common/cloud-error.ts';
import type { Clock } from '../../../../common/process/clock.ts';
import type { LoadBalancerRef, Owner } from '../../load-balancers.ts';
import { inParallel } from '../../parallel.ts';
import type { OpenStackClient, Query } from '../client.ts';
import { isThingNotFound } from '../fault.ts';
import { objectsOf, textOf } from '../json.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { isUuid } from '../uuid.ts';
import { type FloatingIp, type LoadBalancer, type NodePort, readLoadBalancer } from './answer.ts';
import { minorOf } from './features.ts';
import { type List, listings, listsOf } from './listings.ts';
import { createLooks } from './looks.ts';
import { createMemory, type Memory } from './memory.ts';
import { classicName, floatingIpDescription, markIn, securityGroupName } from './names.ts';
import { networkFacts } from './network-facts.ts';
import { assemble, type Found, type OctaviaObserved, ourPools, type Subject } from './observed.ts';
import { isOurGroup } from './plan-security-group.ts';
import { callsAtOnce, poolReads, withMonitors } from './pool-reads.ts';
import { ofServers, readAll, subjectOf } from './read-all.ts';
import { comparison } from './status-tree.ts';
import type { NewLoadBalancer } from './step.ts';
import { ownedBy, ownerTagsOf } from './tags.ts';
import { recalledWhileWaiting } from './waiting.ts';

export interface Reads {
  observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<OctaviaObserved | undefined>;
  observeAll(
    cluster: string,
    signal?: AbortSignal,
    adoptable?: readonly LoadBalancerRef[],
  ): Promise<readonly OctaviaObserved[]>;
  /** Minor version of the API; undefined until it has been asked. */
  minor(): number | undefined;
  /** The same, asked if need be. */
  knowMinor(signal?: AbortSignal): Promise<number | undefined>;
  /** What there is for a Service that has nothing yet. */
  nothing(owner: Owner, signal?: AbortSignal): Promise<Found>;
  /** Undefined when Octavia says that it does not exist. */
  get(id: string, signal?: AbortSignal): Promise<LoadBalancer | undefined>;
  readonly list: List;
  /** Of the first of these addresses that its server has. */
  subnetOf(near: NewLoadBalancer['near'], signal?: AbortSignal): Promise<string | undefined>;
  readonly memory: Memory;
  /** What is known of its members and its monitor is out of date. */
  forgetInside(pool: string): void;
  assemble(subject: Subject, found: Found): OctaviaObserved | undefined;
}

export interface ReadParts {
  readonly client: OpenStackClient;
  readonly clock: Clock;
  readonly config: LoadBalancerConfig;
  readonly providerIDOf: (serverId: string) => string;
}

const subnetKeepMs = 600_000;

export function octaviaReads({ client, clock, config, providerIDOf }: ReadParts): Reads {
  const network = networkFacts(client, clock);
  const list = listsOf(client);
  const inside = poolReads({ client, clock, list, providerIDOf });
  const memory = createMemory(clock);
  /** By server and address, for a while: most load balancers have the same members. */
  const subnets = new Map<string, { readonly id: string; readonly atMs: number }>();
  const compareNow = comparison(client, clock);
  const recalled = recalledWhileWaiting({
    ...{ clock, memory, compareNow, look: createLooks({ clock, list, get }), learn: inside.learn },
    assemble: (subject, found) => assemble(subject, found, config),
  });
  let minor: number | undefined;

  async function knowMinor(signal?: AbortSignal): Promise<number | undefined> {
    minor ??= minorOf(await client.versions('load-balancer', signal));
    return minor;
  }

  async function get(id: string, signal?: AbortSignal): Promise<LoadBalancer | undefined> {
    if (!isUuid(id)) return undefined;
    const operation = 'GET /lbaas/loadbalancers/{id}';
    try {
      const path = `/lbaas/loadbalancers/${id}`;
      return readLoadBalancer(await client.get({ service: 'load-balancer', path, operation, signal }), operation);
    } catch (error) {
      if (!isThingNotFound(error)) throw error;
      if (memory.isNew(id)) {
        const message = `load balancer ${id}, which was just made, does not show yet`;
        throw new CloudError({ kind: 'Unavailable', cloud: 'openstack', operation, message, cause: error });
      }
      memory.ended(id);
      return undefined;
    }
  }

  async function observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<OctaviaObserved | undefined> {
    const subject = subjectOf(ref);
    const { owner } = ref;
    const waiting = await recalled(ref, subject, signal);
    if (waiting) return waiting.observed;
    const stamp = memory.stamp();
    const atMs = clock.monotonic();
    const tags: Query = [['tags', ownerTagsOf(owner).join(',')]];
    const names = ref.adopt
      ? [classicName({ service: ref.service, clusterName: ref.adopt.clusterName }), ref.name]
      : [];
    // Where none are made, one of earlier days shows in the list of everything.
    const mayHaveGroup = config.manageSecurityGroups || ref.adopt !== undefined || memory.mayHaveGroup(owner);
    const [tagged, listed, pooled, byName, marked, named, groups, facts] = await Promise.all([
      list(listings.loadBalancers, tags, signal),
      list(listings.listeners, tags, signal),
      list(listings.pools, tags, signal),
      Promise.all(names.map((name) => list(listings.loadBalancers, [['name', name]], signal))),
      list(listings.floatingIps, ref.service === '' ? [] : descriptionsOf(ref), signal),
      ref.address === undefined ? [] : list(listings.floatingIps, [['floating_ip_address', ref.address]], signal),
      mayHaveGroup
        ? list(listings.groups, ref.service === '' ? [] : [['name', securityGroupName(owner, ref.service)]], signal)
        : [],
      network(),
      knowMinor(signal),
    ]);
    const all = new Map<string, LoadBalancer>();
    for (const one of [...tagged, ...byName.flat()]) all.set(one.id, memory.timed(one));
    const pieces = { listeners: listed, pools: pooled };
    // What a search misses is asked for by its id.
    const missing = (ids: readonly (string | undefined)[]) =>
      [...new Set(ids)].filter((id) => id !== undefined && id !== '' && !all.has(id)) as string[];
    const byItsId = missing([ref.id, ref.attachTo]);
    for (const one of await Promise.all(byItsId.map((id) => get(id, signal))))
      if (one && (ownedBy(one.tags, owner) || one.id === ref.attachTo || ref.adopt !== undefined))
        all.set(one.id, memory.timed(one));
    const elsewhere = missing([...listed, ...pooled].map(({ loadBalancerId }) => loadBalancerId));
    for (const one of await Promise.all(elsewhere.map((id) => get(id, signal))))
      if (one) all.set(one.id, memory.timed(one));
    const group = groups.find((one) => isOurGroup(one, subject));
    const ports = config.manageSecurityGroups || group ? await list(listings.ports, [], signal) : undefined;
    const vips = [...all.values()].map(({ vipPortId }) => vipPortId).filter((id) => id !== '');
    const mine = marked.filter((one) => isMarked(one, owner));
    // A port has one floating IP at the most.
    const open = vips.filter((id) => !mine.some(({ portId }) => portId === id)).map((id) => ['port_id', id] as const);
    const [loadBalancers, attached] = await Promise.all([
      inParallel(callsAtOnce, [...all.values()], (one) => withPieces(one, pieces, subject, ports, signal)),
      open.length === 0 ? [] : list(listings.floatingIps, open, signal),
    ]);
    const floatingIps = unique([...mine, ...attached]);
    const found: Found = {
      ...{
        loadBalancers,
        floatingIps,
        named: named[0],
        group,
        ports: ofServers(ports),
        network: facts,
        noFailover: memory.noFailover,
        restMs: memory.restOf(owner),
        full: [],
        assumed: false,
      },
    };
    const observed = assemble(subject, found, config);
    memory.looked(owner, stamp);
    memory.saw(observed, atMs);
    memory.remember(subject, observed, false);
    return observed;
  }

  async function nothing(owner: Owner, signal?: AbortSignal): Promise<Found> {
    const [facts, ports] = await Promise.all([
      network(),
      config.manageSecurityGroups ? list(listings.ports, [], signal) : undefined,
    ]);
    return {
      ...{ loadBalancers: [], floatingIps: [], named: undefined, group: undefined, ports: ofServers(ports) },
      ...{ network: facts, noFailover: memory.noFailover, restMs: memory.restOf(owner), full: [], assumed: false },
    };
  }

  /** @param tagged pieces that carry the owner's tags, wherever they are: often these are all that there are on it */
  async function withPieces(
    one: LoadBalancer,
    tagged: Pick<LoadBalancer, 'listeners' | 'pools'>,
    subject: Subject,
    ports: readonly NodePort[] | undefined,
    signal?: AbortSignal,
  ): Promise<LoadBalancer> {
    const [listeners, pools] = await Promise.all([
      allOn(one, tagged.listeners, one.listenerIds) ?? list(listings.listeners, [['load_balancer_id', one.id]], signal),
      allOn(one, tagged.pools, one.poolIds) ?? list(listings.pools, [['loadbalancer_id', one.id]], signal),
    ]);
    const bare: LoadBalancer = { ...one, listeners, pools };
    const isOwn = ownedBy(one.tags, subject.owner) || one.id !== subject.attachTo;
    const ours = new Set(ourPools(bare, subject, isOwn).map(({ id }) => id));
    const known = inside.asKnown(pools, ours);
    const withHealth = known && (await healthOf({ ...bare, pools: known }, signal));
    if (withHealth) return { ...withHealth, pools: await inside.withProviderIds(withHealth.pools, ports, signal) };
    const checked = pools.filter(({ id, monitorId }) => ours.has(id) && monitorId !== undefined);
    const [filled, monitors] = await Promise.all([
      inside.withMembers(pools, ours, true, signal),
      inside.monitorsOf(checked, subject, signal),
    ]);
    const complete = withMonitors(filled, monitors);
    inside.keepInside(complete);
    return { ...bare, pools: await inside.withProviderIds(complete, ports, signal) };
  }

  /** What health checks say changes no version; the rest is as it was. Undefined when it is not. */
  async function healthOf(known: LoadBalancer, signal?: AbortSignal): Promise<LoadBalancer | undefined> {
    if (known.status !== 'ACTIVE' || known.pools.every(({ monitor }) => monitor === undefined))
      return known.status === 'ACTIVE' ? known : undefined;
    const compared = await compareNow(known, signal);
    return compared.is === 'as known' ? compared.loadBalancer : undefined;
  }

  async function subnetOf(near: NewLoadBalancer['near'], signal?: AbortSignal): Promise<string | undefined> {
    const keyOf = ({ server, address }: NewLoadBalancer['near'][number]) => `${server} ${address}`;
    const nowMs = clock.monotonic();
    for (const [key, { atMs }] of subnets) if (nowMs - atMs > subnetKeepMs) subnets.delete(key);
    const known = near.flatMap((one) => subnets.get(keyOf(one)) ?? [])[0];
    if (near.length === 0 || known) return known?.id;
    const operation = 'GET /ports';
    // Two networks of one project may have one range.
    const servers = [...new Set(near.map(({ server }) => server))].map((id) => ['device_id', id] as const);
    const query: Query = [...servers, ['fields', 'fixed_ips']];
    const request = { service: 'network', path: '/ports', operation, query, urgency: 'change', signal } as const;
    const { items, failure } = await client.list(request, 'ports');
    if (failure !== undefined) throw failure;
    const ips = objectsOf(items).flatMap((item) => objectsOf(item['fixed_ips']));
    for (const one of near) {
      const id = textOf(ips.find((ip) => ip['ip_address'] === one.address)?.['subnet_id']);
      if (id !== undefined) subnets.set(keyOf(one), { id, atMs: nowMs });
    }
    return near.flatMap((one) => subnets.get(keyOf(one))?.id ?? [])[0];
  }

  return {
    observe,
    observeAll: readAll({ list, pools: inside, memory, config, network, knowMinor }),
    minor: () => minor,
    knowMinor,
    nothing,
    get,
    list,
    subnetOf,
    memory,
    forgetInside: inside.forget,
    assemble: (subject, found) => assemble(subject, found, config),
  };
}

/** Those on this load balancer, if they are all that it names itself. */
function allOn<Piece extends { readonly id: string; readonly loadBalancerId: string }>(
  { id }: LoadBalancer,
  pieces: readonly Piece[],
  ids: readonly string[] | undefined,
): readonly Piece[] | undefined {
  const there = pieces.filter(({ loadBalancerId }) => loadBalancerId === id);
  return ids?.every((one) => there.some((piece) => piece.id === one)) ? there : undefined;
}

/** Neutron finds a description by the whole of it. */
function descriptionsOf(ref: LoadBalancerRef): Query {
  return [false, true].map((keep) => ['description', floatingIpDescription(ref, keep)] as const);
}

function isMarked({ description }: FloatingIp, owner: Owner): boolean {
  const mark = markIn(description);
  return mark?.cluster === owner.cluster && mark.service === owner.service;
}

function unique(items: readonly FloatingIp[]): FloatingIp[] {
  return [...new Map(items.map((one) => [one.id, one])).values()];
}
