import type { Clock } from '../../../../common/process/clock.ts';
import type { Urgency } from '../../call-gate.ts';
import type { LoadBalancerRef, ObservedMember, Owner } from '../../load-balancers.ts';
import { ownerTags } from '../../load-balancers.ts';
import { inParallel } from '../../lookup-pass.ts';
import type { OpenStackClient, Query } from '../client.ts';
import { faultOf, isThingNotFound } from '../fault.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import {
  type FloatingIp,
  type Listener,
  type LoadBalancer,
  type Member,
  type Monitor,
  type NodePort,
  type Pool,
  readFloatingIp,
  readGroup,
  readListener,
  readLoadBalancer,
  readMember,
  readMonitor,
  readNodePort,
  readPool,
  type SecurityGroup,
} from './answer.ts';
import { minorOf } from './features.ts';
import { classicName, floatingIpDescription, markIn, securityGroupName, serviceIn } from './names.ts';
import { type NetworkFacts, networkFacts } from './network-facts.ts';
import {
  assemble,
  carriesPieces,
  type Found,
  foundIn,
  givenUp,
  type OctaviaObserved,
  ourPools,
  type Subject,
  withLoadBalancer,
} from './observed.ts';
import { isOurGroup } from './plan-security-group.ts';
import { ownedBy, ownerIn, ownerTagsOf, tag, tagValue } from './tags.ts';

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
  network(): Promise<NetworkFacts>;
  /** Undefined when Octavia says that it does not exist. */
  get(id: string, signal?: AbortSignal): Promise<LoadBalancer | undefined>;
  list<Item>(what: Listing<Item>, query: Query, signal?: AbortSignal, urgency?: Urgency): Promise<Item[]>;
  subnetOf(addresses: readonly string[], signal?: AbortSignal): Promise<string | undefined>;
  /**
   * What came of a step, so that waiting for its end needs one read a look.
   *
   * @param sure all of its pieces are known as they will be then
   */
  remember(subject: Subject, observed: OctaviaObserved | undefined, sure: boolean): void;
  /** What is known of its members is out of date. */
  forgetMembers(pool: string): void;
  /** One in ERROR was deleted, to be made anew; should that go on, it takes ever longer rests. */
  noteRecreation(owner: Owner): void;
  /** A failover was refused; it is not tried again. */
  noteNoFailover(): void;
  assemble(subject: Subject, found: Found): OctaviaObserved | undefined;
}

export interface ReadParts {
  readonly client: OpenStackClient;
  readonly clock: Clock;
  readonly config: LoadBalancerConfig;
  readonly providerIDOf: (serverId: string) => string;
}

export interface Listing<Item> {
  readonly service: 'load-balancer' | 'network';
  readonly path: string;
  readonly operation: string;
  readonly collection: string;
  readonly read: (json: unknown, operation: string) => Item;
  readonly fields?: readonly string[];
  /** Not every cloud has it. */
  readonly optional?: boolean;
}

function listing<Item>(
  service: Listing<Item>['service'],
  path: string,
  read: Listing<Item>['read'],
  fields?: readonly string[],
  shown = path,
): Listing<Item> {
  const collection = path.slice(path.lastIndexOf('/') + 1).replaceAll('-', '_');
  return { service, path, operation: `GET ${shown}`, collection, read, ...(fields ? { fields } : {}) };
}

export const listings = {
  loadBalancers: listing('load-balancer', '/lbaas/loadbalancers', readLoadBalancer),
  listeners: listing('load-balancer', '/lbaas/listeners', readListener),
  pools: listing('load-balancer', '/lbaas/pools', readPool),
  monitors: listing('load-balancer', '/lbaas/healthmonitors', readMonitor),
  members: (pool: string) =>
    listing('load-balancer', `/lbaas/pools/${pool}/members`, readMember, undefined, '/lbaas/pools/{id}/members'),
  floatingIps: {
    ...listing('network', '/floatingips', readFloatingIp, [
      ...['id', 'floating_ip_address', 'floating_network_id', 'port_id', 'description', 'tags'],
    ]),
    optional: true,
  },
  groups: listing('network', '/security-groups', readGroup, ['id', 'name', 'description', 'security_group_rules']),
  ports: listing('network', '/ports', readNodePort, [
    ...['id', 'device_id', 'fixed_ips', 'security_groups', 'port_security_enabled', 'revision_number'],
  ]),
} as const;

const callsAtOnce = 8;
/** Between two that came to ERROR as soon as they were made. */
const firstRestMs = 30_000;
const longestRestMs = 600_000;

export function octaviaReads({ client, clock, config, providerIDOf }: ReadParts): Reads {
  const network = networkFacts(client, clock);
  const options = { ingressHostnameSuffix: config.ingressHostnameSuffix };
  let minor: number | undefined;
  let noFailover = false;
  /** By Service: what it was when it was seen last. */
  const last = new Map<string, OctaviaObserved>();
  /** Of those the ones whose pieces are known to the last one. */
  const certain = new WeakSet<OctaviaObserved>();
  /** By load balancer: since when it is in a PENDING status. */
  const pendingSince = new Map<string, number>();
  /** By pool: its members at a version of it. */
  const memberSets = new Map<string, { readonly key: string; readonly members: readonly Member[] }>();

  /** By Service: how often in a row what was made came to ERROR. */
  const recreations = new Map<string, { readonly count: number; readonly atMs: number }>();

  function restOf({ service }: Owner): number {
    const known = recreations.get(service);
    if (known === undefined || known.count < 2) return 0;
    const restMs = Math.min(longestRestMs, firstRestMs * 2 ** (known.count - 2));
    return Math.max(0, known.atMs + restMs - clock.monotonic());
  }

  async function knowMinor(signal?: AbortSignal): Promise<number | undefined> {
    minor ??= minorOf(await client.versions('load-balancer', signal));
    return minor;
  }

  async function list<Item>(
    what: Listing<Item>,
    query: Query,
    signal?: AbortSignal,
    urgency: Urgency = 'need',
  ): Promise<Item[]> {
    const { service, path, operation, collection, read, fields = [], optional = false } = what;
    const asked: Query = [['limit', '1000'], ...query, ...fields.map((name) => ['fields', name] as const)];
    const { items, failure } = await client.list(
      { service, path, operation, query: asked, urgency, signal },
      collection,
    );
    // A Neutron without routers has no floating IPs.
    if (failure !== undefined && optional && faultOf(failure)?.type === 'HTTPNotFound') return [];
    if (failure !== undefined) throw failure;
    return items.map((item) => read(item, operation));
  }

  async function get(id: string, signal?: AbortSignal): Promise<LoadBalancer | undefined> {
    if (!/^[0-9a-f-]{32,36}$/i.test(id)) return undefined;
    const operation = 'GET /lbaas/loadbalancers/{id}';
    try {
      const path = `/lbaas/loadbalancers/${id}`;
      const json = await client.get({ service: 'load-balancer', path, operation, signal });
      return timed(readLoadBalancer(json, operation));
    } catch (error) {
      if (isThingNotFound(error)) return undefined;
      throw error;
    }
  }

  function timed(loadBalancer: LoadBalancer): LoadBalancer {
    const { id, status } = loadBalancer;
    if (!status.startsWith('PENDING')) {
      pendingSince.delete(id);
      return loadBalancer;
    }
    const sinceMs = pendingSince.get(id) ?? clock.monotonic();
    pendingSince.set(id, sinceMs);
    return { ...loadBalancer, pendingMs: clock.monotonic() - sinceMs };
  }

  /** Members of these pools, as many as are not known at this version. */
  async function withMembers(
    pools: readonly Pool[],
    wanted: ReadonlySet<string>,
    fresh: boolean,
    signal?: AbortSignal,
  ): Promise<Pool[]> {
    return inParallel(callsAtOnce, pools, async (pool) => {
      if (!wanted.has(pool.id)) return pool;
      if (pool.memberIds.length === 0) return { ...pool, members: [] };
      const key = [pool.version, ...pool.memberIds.toSorted()].join(' ');
      const known = memberSets.get(pool.id);
      if (!fresh && known?.key === key && pool.status === 'ACTIVE') return { ...pool, members: known.members };
      let members: readonly Member[];
      try {
        members = await list(listings.members(pool.id), [], signal);
      } catch (error) {
        // Deleted since it was listed.
        if (!isThingNotFound(error)) throw error;
        members = [];
      }
      if (pool.status === 'ACTIVE') memberSets.set(pool.id, { key, members });
      return { ...pool, members };
    });
  }

  /** What the classic controller made as a member says nothing of its server; Neutron knows whose the address is. */
  async function withProviderIds(
    pools: readonly Pool[],
    known: readonly NodePort[] | undefined,
    signal?: AbortSignal,
  ): Promise<Pool[]> {
    const nameless = pools.some(({ members }) => members?.some(({ providerID }) => providerID === undefined));
    if (!nameless) return [...pools];
    const ports = known ?? (await list(listings.ports, [], signal));
    const servers = new Map(
      ports.flatMap((port) => (port.serverId === '' ? [] : port.addresses.map((one) => [one, port.serverId] as const))),
    );
    const named = (member: Member): Member => {
      const server = member.providerID === undefined ? servers.get(member.address) : undefined;
      return server === undefined ? member : { ...member, providerID: providerIDOf(server) };
    };
    return pools.map((pool) => (pool.members ? { ...pool, members: pool.members.map(named) } : pool));
  }

  function withMonitors(pools: readonly Pool[], monitors: readonly Monitor[]): Pool[] {
    const byId = new Map(monitors.map((one) => [one.id, one]));
    return pools.map((pool) => ({
      ...pool,
      monitor: pool.monitorId === undefined ? undefined : byId.get(pool.monitorId),
    }));
  }

  async function observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<OctaviaObserved | undefined> {
    const subject = subjectOf(ref);
    const { owner } = ref;
    const waiting = await stillPending(ref, subject, signal);
    if (waiting) return waiting;
    const tags: Query = [['tags', `${tag(ownerTags.cluster, owner.cluster)},${tag(ownerTags.service, owner.service)}`]];
    const names = ref.adopt
      ? [classicName({ service: ref.service, clusterName: ref.adopt.clusterName }), ref.name]
      : [];
    const asked = [...new Set([ref.id, ref.attachTo].filter((id) => id !== undefined))];
    const [byId, tagged, listed, pooled, byName, marked, named, groups, facts] = await Promise.all([
      Promise.all(asked.map((id) => get(id, signal))),
      list(listings.loadBalancers, tags, signal),
      list(listings.listeners, tags, signal),
      list(listings.pools, tags, signal),
      Promise.all(names.map((name) => list(listings.loadBalancers, [['name', name]], signal))),
      list(listings.floatingIps, ref.service === '' ? [] : [['description', floatingIpDescription(ref)]], signal),
      ref.address === undefined ? [] : list(listings.floatingIps, [['floating_ip_address', ref.address]], signal),
      list(listings.groups, ref.service === '' ? [] : [['name', securityGroupName(owner, ref.service)]], signal),
      network(),
      knowMinor(signal),
    ]);
    const all = new Map<string, LoadBalancer>();
    for (const one of [...tagged, ...byName.flat()]) all.set(one.id, timed(one));
    for (const one of byId)
      if (one && (ownedBy(one.tags, owner) || one.id === ref.attachTo || names.includes(one.name)))
        all.set(one.id, one);
    const elsewhere = [...listed, ...pooled]
      .map(({ loadBalancerId }) => loadBalancerId)
      .filter((id) => id !== '' && !all.has(id));
    for (const one of await Promise.all([...new Set(elsewhere)].map((id) => get(id, signal))))
      if (one) all.set(one.id, one);
    const group = groups.find((one) => isOurGroup(one, subject));
    const ports = config.manageSecurityGroups || group ? await list(listings.ports, [], signal) : undefined;
    const [loadBalancers, attached] = await Promise.all([
      inParallel(callsAtOnce, [...all.values()], (one) => withPieces(one, subject, ports, signal)),
      Promise.all(
        [...all.values()]
          .filter(({ vipPortId }) => vipPortId !== '')
          .map(({ vipPortId }) => list(listings.floatingIps, [['port_id', vipPortId]], signal)),
      ),
    ]);
    const floatingIps = unique([...marked.filter((one) => isMarked(one, owner)), ...attached.flat()]);
    const found: Found = {
      ...{
        loadBalancers,
        floatingIps,
        named: named[0],
        group,
        ports: serverPorts(ports),
        network: facts,
        noFailover,
        restMs: restOf(owner),
        full: [],
        assumed: false,
      },
    };
    const observed = assemble(subject, found, options);
    remember(subject, observed);
    return observed;
  }

  /** While Octavia is at work on it, one read tells so; the rest is as it was. */
  async function stillPending(
    ref: LoadBalancerRef,
    subject: Subject,
    signal?: AbortSignal,
  ): Promise<OctaviaObserved | undefined> {
    const known = last.get(ref.owner.service);
    const main = known?.pieces.own ?? known?.pieces.hosts.find(({ id }) => id === ref.attachTo);
    if (known === undefined || main === undefined || !main.status.startsWith('PENDING')) return undefined;
    if (known.pieces.own === main && ref.id !== undefined && ref.id !== main.id) return undefined;
    const now = await get(main.id, signal);
    const pending = now?.status.startsWith('PENDING') === true;
    if (!pending && (now?.status !== 'ACTIVE' || !certain.has(known))) return undefined;
    const { listeners, pools } = main;
    // Octavia lets nobody else in while it is at work: when it is done, there is what our step has made of what was there.
    const found = { ...foundIn(known), assumed: !pending };
    const observed = assemble(subject, withLoadBalancer(found, main.id, { ...now!, listeners, pools }), options);
    remember(subject, observed, pending && certain.has(known));
    return observed;
  }

  async function withPieces(
    one: LoadBalancer,
    subject: Subject,
    ports: readonly NodePort[] | undefined,
    signal?: AbortSignal,
  ): Promise<LoadBalancer> {
    const [listeners, pools] = await Promise.all([
      list(listings.listeners, [['load_balancer_id', one.id]], signal),
      list(listings.pools, [['loadbalancer_id', one.id]], signal),
    ]);
    const bare: LoadBalancer = { ...one, listeners, pools };
    const isOwn = ownedBy(one.tags, subject.owner) || one.id !== subject.attachTo;
    const ours = new Set(ourPools(bare, subject, isOwn).map(({ id }) => id));
    const checked = pools.filter(({ id, monitorId }) => ours.has(id) && monitorId !== undefined);
    const [filled, monitors] = await Promise.all([
      withMembers(pools, ours, true, signal),
      monitorsOf(checked, subject, signal),
    ]);
    return { ...bare, pools: await withProviderIds(withMonitors(filled, monitors), ports, signal) };
  }

  /** One of several is found with the others by our tags; what carries none is read by itself. */
  async function monitorsOf(pools: readonly Pool[], { owner }: Subject, signal?: AbortSignal): Promise<Monitor[]> {
    const tagged =
      pools.length > 1 ? await list(listings.monitors, [['tags', ownerTagsOf(owner).join(',')]], signal) : [];
    const left = pools.filter(({ monitorId }) => !tagged.some(({ id }) => id === monitorId));
    const others = await inParallel(callsAtOnce, left, ({ monitorId }) => getMonitor(monitorId!, signal));
    return [...tagged, ...others.filter((monitor) => monitor !== undefined)];
  }

  async function getMonitor(id: string, signal?: AbortSignal): Promise<Monitor | undefined> {
    const operation = 'GET /lbaas/healthmonitors/{id}';
    try {
      return readMonitor(
        await client.get({ service: 'load-balancer', path: `/lbaas/healthmonitors/${id}`, operation, signal }),
        operation,
      );
    } catch (error) {
      if (isThingNotFound(error)) return undefined;
      throw error;
    }
  }

  async function observeAll(
    cluster: string,
    signal?: AbortSignal,
    adoptable: readonly LoadBalancerRef[] = [],
  ): Promise<readonly OctaviaObserved[]> {
    const [bare, listeners, pools, monitors, floating, groups, facts] = await Promise.all([
      list(listings.loadBalancers, [], signal, 'refresh'),
      list(listings.listeners, [], signal, 'refresh'),
      list(listings.pools, [], signal, 'refresh'),
      list(listings.monitors, [], signal, 'refresh'),
      list(listings.floatingIps, [], signal, 'refresh'),
      list(listings.groups, [], signal, 'refresh'),
      network(),
      knowMinor(signal),
    ]);
    const subjects = subjectsIn({ cluster, bare, listeners, pools, floating, groups, adoptable });
    const byBalancer = {
      listeners: Map.groupBy(listeners, ({ loadBalancerId }) => loadBalancerId),
      pools: Map.groupBy(pools, ({ loadBalancerId }) => loadBalancerId),
    };
    const loadBalancers = bare.map((one): LoadBalancer => {
      return {
        ...timed(one),
        listeners: byBalancer.listeners.get(one.id) ?? [],
        pools: byBalancer.pools.get(one.id) ?? [],
      };
    });
    const relevant = (subject: Subject) => loadBalancers.filter((one) => isRelevant(one, subject));
    const ours = new Set<string>();
    const involved = new Map([...subjects.values()].map((subject) => [subject, relevant(subject)]));
    for (const [subject, some] of involved) {
      for (const one of some) {
        const isOwn = !carriesPieces(one, subject) || ownedBy(one.tags, subject.owner);
        for (const { id } of ourPools(one, subject, isOwn)) ours.add(id);
      }
    }
    const needsPorts =
      config.manageSecurityGroups || groups.some((one) => markIn(one.description)?.cluster === cluster);
    const ports = needsPorts ? await list(listings.ports, [], signal) : undefined;
    const filled = await withProviderIds(
      withMonitors(await withMembers(pools, ours, false, signal), monitors),
      ports,
      signal,
    );
    for (const id of memberSets.keys()) if (!ours.has(id)) memberSets.delete(id);
    const filledBy = Map.groupBy(filled, ({ loadBalancerId }) => loadBalancerId);
    const common = {
      ...{ ports: serverPorts(ports), network: facts, noFailover, full: [], named: undefined, assumed: false },
    } as const;
    const shared = memberLists();
    const observed: OctaviaObserved[] = [];
    for (const [subject, some] of involved) {
      const vips = new Set(some.map(({ vipPortId }) => vipPortId));
      const one = assemble(
        subject,
        {
          ...common,
          restMs: restOf(subject.owner),
          loadBalancers: some.map((each) => ({ ...each, pools: filledBy.get(each.id) ?? [] })),
          floatingIps: floating.filter(
            (each) => isMarked(each, subject.owner) || (each.portId !== undefined && vips.has(each.portId)),
          ),
          group: groups.find((each) => isOurGroup(each, subject)),
        },
        options,
      );
      if (one?.owner === undefined) continue;
      const same = { ...one, members: shared(one.members) };
      observed.push(same);
      remember(subject, same);
    }
    const kept = loadBalancers
      .filter(
        ({ tags }) =>
          tags.includes(tag(ownerTags.cluster, cluster)) &&
          tagValue(tags, ownerTags.retained) !== undefined &&
          !ownerIn(tags, cluster),
      )
      .map((one) => givenUp(one, cluster, { ...common, restMs: 0, floatingIps: [], group: undefined }));
    return [...observed, ...kept];
  }

  function remember({ owner }: Subject, observed: OctaviaObserved | undefined, sure = false): void {
    const { own, hosts = [] } = observed?.pieces ?? {};
    if (own?.status === 'ACTIVE') recreations.delete(owner.service);
    // The rest is read anew anyway.
    const waits = [own, ...hosts].some((one) => one?.status.startsWith('PENDING'));
    if (observed && waits) {
      last.set(owner.service, observed);
      if (sure) certain.add(observed);
    } else last.delete(owner.service);
  }

  async function subnetOf(addresses: readonly string[], signal?: AbortSignal): Promise<string | undefined> {
    for (const address of addresses) {
      const operation = 'GET /ports';
      const query: Query = [
        ['fixed_ips', `ip_address=${address}`],
        ['fields', 'fixed_ips'],
      ];
      const { items, failure } = await client.list(
        { service: 'network', path: '/ports', operation, query, signal },
        'ports',
      );
      if (failure !== undefined) throw failure;
      for (const item of items) {
        const ips = (item as { fixed_ips?: { subnet_id?: string; ip_address?: string }[] }).fixed_ips ?? [];
        const subnet = ips.find((ip) => ip.ip_address === address)?.subnet_id;
        if (subnet) return subnet;
      }
    }
    return undefined;
  }

  return {
    observe,
    observeAll,
    minor: () => minor,
    knowMinor,
    network,
    get,
    list,
    subnetOf,
    remember,
    forgetMembers: (pool) => void memberSets.delete(pool),
    noteRecreation({ service }) {
      const count = (recreations.get(service)?.count ?? 0) + 1;
      recreations.set(service, { count, atMs: clock.monotonic() });
    },
    noteNoFailover() {
      noFailover = true;
    },
    assemble: (subject, found) => assemble(subject, found, options),
  };
}

export function subjectOf({ owner, service, name, attachTo, adopt }: LoadBalancerRef): Subject {
  return { owner, service, name, attachTo, adopt };
}

function isMarked({ description }: FloatingIp, owner: Owner): boolean {
  const mark = markIn(description);
  return mark?.cluster === owner.cluster && mark.service === owner.service;
}

function unique(items: readonly FloatingIp[]): FloatingIp[] {
  return [...new Map(items.map((one) => [one.id, one])).values()];
}

function serverPorts(ports: readonly NodePort[] | undefined): readonly NodePort[] {
  return (ports ?? []).filter(({ serverId }) => serverId !== '');
}

function isRelevant(one: LoadBalancer, subject: Subject): boolean {
  if (ownedBy(one.tags, subject.owner) || carriesPieces(one, subject)) return true;
  if (subject.adopt === undefined) return false;
  return (
    one.name === subject.name ||
    one.name === classicName({ service: subject.service, clusterName: subject.adopt.clusterName })
  );
}

interface Listed {
  readonly cluster: string;
  readonly bare: readonly LoadBalancer[];
  readonly listeners: readonly Listener[];
  readonly pools: readonly Pool[];
  readonly floating: readonly FloatingIp[];
  readonly groups: readonly SecurityGroup[];
  readonly adoptable: readonly LoadBalancerRef[];
}

/** Everybody of this cluster who has anything, by UID. */
function subjectsIn({
  cluster,
  bare,
  listeners,
  pools,
  floating,
  groups,
  adoptable,
}: Listed): ReadonlyMap<string, Subject> {
  const subjects = new Map<string, Subject>(adoptable.map((ref) => [ref.owner.service, subjectOf(ref)]));
  const add = (owner: Owner | undefined, service: string) => {
    if (owner === undefined || subjects.has(owner.service)) return;
    subjects.set(owner.service, { owner, service, name: '', attachTo: undefined, adopt: undefined });
  };
  for (const { tags } of bare) add(ownerIn(tags, cluster), tagValue(tags, ownerTags.serviceName) ?? '');
  for (const { description } of [...floating, ...groups]) {
    const mark = markIn(description);
    if (mark?.cluster === cluster && mark.service)
      add({ cluster, service: mark.service }, serviceIn(description) ?? '');
  }
  for (const { tags } of [...listeners, ...pools]) add(ownerIn(tags, cluster), '');
  return subjects;
}

/** The same array for equal lists. */
function memberLists(): (members: readonly ObservedMember[]) => readonly ObservedMember[] {
  const known = new Map<string, readonly ObservedMember[]>();
  return (members) => {
    const key = members.map(({ providerID, draining, healthy }) => `${providerID} ${draining} ${healthy}`).join('\n');
    const found = known.get(key);
    if (found) return found;
    known.set(key, members);
    return members;
  };
}
