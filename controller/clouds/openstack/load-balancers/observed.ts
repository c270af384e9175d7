import type { AdoptionProof, Ingress, ObservedLoadBalancer, ObservedMember, Owner } from '../../load-balancers.ts';
import { ownerTags } from '../../load-balancers.ts';
import type { FloatingIp, Listener, LoadBalancer, Member, NodePort, Pool, SecurityGroup } from './answer.ts';
import { classicFloatingIpDescription, classicName, isPieceName, markIn } from './names.ts';
import type { NetworkFacts } from './network-facts.ts';
import { namesOwner, octaviaTags, ownedBy, tagValue } from './tags.ts';

/** Whose things are looked at. */
export interface Subject {
  readonly owner: Owner;
  /** `namespace/name`; empty where only tags tell of it. */
  readonly service: string;
  /** The classic controller's name of old, of the Service's UID. */
  readonly name: string;
  /** Id of the load balancer that somebody else made and it is to use. */
  readonly attachTo: string | undefined;
  /** The address that it names. */
  readonly address: string | undefined;
  readonly adopt: AdoptionProof | undefined;
  /** As recorded; ownership is proved by tags alone. */
  readonly id: string | undefined;
}

/** Everything of one Service, piece by piece. */
export interface Pieces {
  readonly subject: Subject;
  /** Carries our tags itself, or is ours by adoption. */
  readonly own: LoadBalancer | undefined;
  readonly adopted: boolean;
  /** Made by somebody else, with pieces of ours; also the one to attach to. */
  readonly hosts: readonly LoadBalancer[];
  /** Ours by its tags as well, since an answer was lost for long: never shown, and one too many. */
  readonly doubles: readonly LoadBalancer[];
  /** Kept when its Service went. */
  readonly kept: LoadBalancer | undefined;
  /** Ours by their mark, and those on a VIP of these load balancers. */
  readonly floatingIps: readonly FloatingIp[];
  /** Of the address that the Service names. */
  readonly named: FloatingIp | undefined;
  readonly group: SecurityGroup | undefined;
  /** Of servers; empty unless security groups are managed or left over. */
  readonly ports: readonly NodePort[];
  readonly network: NetworkFacts;
  /** The credential may not do it, or the driver cannot. */
  readonly noFailover: boolean;
  /** Until what came to ERROR may be made anew once more. */
  readonly restMs: number;
  /** Subnets that had no address left. */
  readonly full: readonly string[];
  /** Not read after the last step, but known from it: enough for the next step, and no proof that there is none. */
  readonly assumed: boolean;
}

export interface OctaviaObserved extends ObservedLoadBalancer {
  readonly pieces: Pieces;
}

export type Found = Omit<Pieces, 'subject' | 'own' | 'adopted' | 'hosts' | 'doubles' | 'kept'> & {
  readonly loadBalancers: readonly LoadBalancer[];
};

export interface AssembleOptions {
  /** Of host names in place of addresses, with PROXY protocol. */
  readonly ingressHostnameSuffix: string | undefined;
}

/** Whether a listener serves our Service: by our tags; on our own load balancer also what the classic controller made for it. */
export function isOurListener(
  listener: Listener,
  loadBalancer: LoadBalancer,
  subject: Subject,
  isOwn: boolean,
): boolean {
  if (ownedBy(listener.tags, subject.owner)) return true;
  if (!isOwn || tagValue(listener.tags, ownerTags.service) !== undefined) return false;
  if (listener.tags.includes(loadBalancer.name)) return true;
  return !namesOwner(listener.tags) && isPieceName('listener', listener.name, loadBalancer.name);
}

export function ourListeners(loadBalancer: LoadBalancer, subject: Subject, isOwn: boolean): readonly Listener[] {
  return loadBalancer.listeners.filter((one) => isOurListener(one, loadBalancer, subject, isOwn));
}

/** Pools of our listeners, those with our tags and, on our own load balancer, those that the classic controller has named. */
export function ourPools(loadBalancer: LoadBalancer, subject: Subject, isOwn: boolean): readonly Pool[] {
  const listeners = ourListeners(loadBalancer, subject, isOwn);
  const served = new Set(listeners.map(({ poolId }) => poolId));
  const ids = new Set(listeners.map(({ id }) => id));
  return loadBalancer.pools.filter((pool) => {
    if (ownedBy(pool.tags, subject.owner)) return true;
    if (!isOwn || tagValue(pool.tags, ownerTags.service) !== undefined) return false;
    if (pool.listenerIds.some((id) => !ids.has(id))) return false;
    return served.has(pool.id) || isPieceName('pool', pool.name, loadBalancer.name);
  });
}

export function carriesPieces(loadBalancer: LoadBalancer, { owner }: Subject): boolean {
  return [...loadBalancer.listeners, ...loadBalancer.pools].some(({ tags }) => ownedBy(tags, owner));
}

export function stateOf(status: string): ObservedLoadBalancer['state'] {
  if (status === 'ACTIVE') return 'active';
  if (status === 'PENDING_DELETE' || status === 'DELETED') return 'deleting';
  return status.startsWith('PENDING') ? 'provisioning' : 'failed';
}

/** By its mark; what the classic controller described, on our own load balancer, too. */
export function isOurFloatingIp(
  floatingIp: FloatingIp,
  { subject, own }: Pick<Pieces, 'subject' | 'own'>,
  clusterName?: string,
): boolean {
  const mark = markIn(floatingIp.description);
  if (mark !== undefined) return mark.cluster === subject.owner.cluster && mark.service === subject.owner.service;
  if (own === undefined || floatingIp.portId !== own.vipPortId || subject.service === '') return false;
  const { description } = floatingIp;
  if (clusterName !== undefined)
    return description === classicFloatingIpDescription({ service: subject.service, clusterName });
  return description.startsWith(`Floating IP for Kubernetes external service ${subject.service} from cluster `);
}

/** Puts together what was found. Undefined when it is nothing. */
export function assemble(subject: Subject, found: Found, options: AssembleOptions): OctaviaObserved | undefined {
  const { loadBalancers, ...rest } = found;
  const { owner, attachTo } = subject;
  const there = loadBalancers.filter(({ status }) => status !== 'DELETED');
  const rank = (one: LoadBalancer) => rankOf(one, subject, found);
  const tagged = there.filter(({ tags }) => ownedBy(tags, owner)).sort((a, b) => rank(b) - rank(a) || byAge(a, b));
  const adopted = tagged.length === 0 ? adoptable(there, subject, found, options) : undefined;
  const own = tagged[0] ?? adopted;
  const doubles = tagged.slice(1).filter((one) => one.id !== attachTo);
  const hosts = there.filter(
    (one) => one !== own && !doubles.includes(one) && (one.id === attachTo || carriesPieces(one, subject)),
  );
  const kept = there.find(({ tags }) => tagValue(tags, ownerTags.retained) !== undefined && !ownedBy(tags, owner));
  const pieces: Pieces = { ...rest, subject, own, adopted: adopted !== undefined, hosts, doubles, kept };
  const ours = rest.floatingIps.filter((one) => isOurFloatingIp(one, pieces));
  const pieced = hosts.some((one) => carriesPieces(one, subject));
  const recorded = subject.adopt && !own && !pieced ? there.find(({ id }) => id === subject.id) : undefined;
  if (recorded && ours.length === 0) return estranged(recorded, subject, rest);
  const host = hosts.find((one) => one.id === attachTo) ?? hosts[0];
  const serves = host !== undefined && ourListeners(host, subject, false).length > 0;
  const main = host && (serves || !own) && (attachTo !== undefined || !own) ? host : own;
  if (!main && ours.length === 0 && rest.named === undefined && rest.group === undefined) return undefined;
  const any = own !== undefined || pieced || ours.length > 0 || rest.group !== undefined;
  const isOwn = main !== undefined && main === own;
  return {
    pieces,
    id: main?.id,
    name: main?.name ?? subject.name,
    owner: any ? owner : undefined,
    state: main === undefined ? 'active' : stateOf(main.status),
    ingress: main === undefined ? [] : ingressOf(main, pieces, isOwn, options),
    members: main === undefined ? [] : membersOf(ourPools(main, subject, isOwn)),
    attached: main !== undefined && !isOwn,
    ...(isOwn && pieces.adopted ? { adopted: true } : {}),
    retained: false,
    createdAtMs: main?.createdAtMs,
    service: (own && tagValue(own.tags, ownerTags.serviceName)) ?? (subject.service || undefined),
  };
}

/**
 * What was given up, as a list of the whole cluster shows it.
 *
 * @param kept the load balancer, or the floating IP that alone was kept
 */
export function givenUp(
  kept: LoadBalancer | FloatingIp,
  cluster: string,
  rest: Omit<Found, 'loadBalancers'>,
): OctaviaObserved {
  const loadBalancer = 'vipPortId' in kept ? kept : undefined;
  const subject: Subject = {
    owner: { cluster, service: '' },
    service: '',
    name: '',
    attachTo: undefined,
    address: undefined,
    adopt: undefined,
    id: undefined,
  };
  return {
    pieces: {
      ...rest,
      subject,
      own: undefined,
      adopted: false,
      hosts: [],
      doubles: [],
      kept: loadBalancer,
      floatingIps: [],
    },
    id: loadBalancer?.id,
    name: 'address' in kept ? kept.address : kept.name,
    owner: undefined,
    state: loadBalancer ? stateOf(loadBalancer.status) : 'active',
    ingress: [],
    members: [],
    attached: false,
    retained: true,
    createdAtMs: loadBalancer?.createdAtMs,
    service: 'address' in kept ? markIn(kept.description)?.keptFor : tagValue(kept.tags, ownerTags.retained),
  };
}

/** Its name and tag as the classic controller gives them to this Service, its address as the Service's status shows it, and nobody else's marks. */
function isAdoptable(one: LoadBalancer, subject: Subject, { floatingIps }: Found, options: AssembleOptions): boolean {
  const { adopt, service, name } = subject;
  if (adopt === undefined || adopt.addresses.length === 0 || service === '') return false;
  const classic = classicName({ service, clusterName: adopt.clusterName });
  if (one.name !== classic && one.name !== name) return false;
  if (!one.tags.includes(one.name)) return false;
  if ([ownerTags.service, ownerTags.retained, ownerTags.cluster].some((key) => tagValue(one.tags, key) !== undefined))
    return false;
  const address = floatingIps.find(({ portId }) => portId === one.vipPortId)?.address ?? one.vipAddress;
  const shown = [
    address,
    ...(options.ingressHostnameSuffix === undefined ? [] : [`${address}.${options.ingressHostnameSuffix}`]),
  ];
  return shown.some((text) => adopt.addresses.includes(text));
}

/** The one that is recorded, then the one whose address is shown. */
function rankOf(one: LoadBalancer, { id, owner }: Subject, { floatingIps }: Found): number {
  if (one.id === id) return 3;
  if (
    floatingIps.some(
      ({ portId, description }) => portId === one.vipPortId && markIn(description)?.service === owner.service,
    )
  )
    return 2;
  return tagValue(one.tags, octaviaTags.address) === 'vip' ? 1 : 0;
}

/** The recorded one alone, where there is one; of several that agree none. */
function adoptable(
  there: readonly LoadBalancer[],
  subject: Subject,
  found: Found,
  options: AssembleOptions,
): LoadBalancer | undefined {
  const agreeing = there.filter((one) => isAdoptable(one, subject, found, options));
  if (subject.id !== undefined && there.some(({ id }) => id === subject.id)) {
    return agreeing.find(({ id }) => id === subject.id);
  }
  return agreeing.length === 1 ? agreeing[0] : undefined;
}

/** Taken over and recorded, and not as it was when that was proved: nobody's until a person has looked. */
function estranged(one: LoadBalancer, subject: Subject, rest: Omit<Found, 'loadBalancers'>): OctaviaObserved {
  return {
    pieces: { ...rest, subject, own: undefined, adopted: false, hosts: [], doubles: [], kept: one },
    id: one.id,
    name: one.name,
    owner: undefined,
    state: stateOf(one.status),
    ingress: [],
    members: [],
    attached: false,
    retained: false,
    createdAtMs: one.createdAtMs,
    service: undefined,
  };
}

function byAge(a: LoadBalancer, b: LoadBalancer): number {
  return (a.createdAtMs ?? 0) - (b.createdAtMs ?? 0) || (a.id < b.id ? -1 : 1);
}

/** The floating IP; without one the VIP, where it is certain that there will be none. */
export function addressOf(
  main: LoadBalancer,
  { floatingIps, adopted, own }: Pick<Pieces, 'floatingIps' | 'adopted' | 'own'>,
): string | undefined {
  const floating = floatingIps.find(({ portId }) => portId !== undefined && portId === main.vipPortId);
  if (floating) return floating.address;
  const isOwn = main === own;
  if (isOwn && !adopted && tagValue(main.tags, octaviaTags.address) !== 'vip') return undefined;
  return main.vipAddress === '' ? undefined : main.vipAddress;
}

function ingressOf(main: LoadBalancer, pieces: Pieces, isOwn: boolean, options: AssembleOptions): Ingress[] {
  const { subject } = pieces;
  const ip = addressOf(main, pieces);
  if (
    ip === undefined ||
    main.status === 'PENDING_CREATE' ||
    (!isOwn && ourListeners(main, subject, false).length === 0)
  )
    return [];
  const hostname = isOwn ? tagValue(main.tags, octaviaTags.hostname) : undefined;
  if (hostname !== undefined) return [{ hostname }];
  const proxied = ourPools(main, subject, isOwn).some(({ protocol }) => protocol.startsWith('PROXY'));
  if (proxied && options.ingressHostnameSuffix !== undefined)
    return [{ hostname: `${ip}.${options.ingressHostnameSuffix}` }];
  const ends = proxied || ourListeners(main, subject, isOwn).some(({ protocol }) => protocol === 'TERMINATED_HTTPS');
  return [ends ? { ip, ipMode: 'Proxy' } : { ip }];
}

/** Every port has a pool of its own; a Node is a member in each. */
function membersOf(pools: readonly Pool[]): readonly ObservedMember[] {
  const members = new Map<string, ObservedMember>();
  for (const { members: some } of pools) {
    for (const { providerID, weight, healthy } of some ?? []) {
      if (providerID === undefined) continue;
      const known = members.get(providerID);
      members.set(providerID, {
        providerID,
        draining: weight === 0 && (known?.draining ?? true),
        healthy: worse(known, healthy),
      });
    }
  }
  return [...members.values()];
}

function worse(known: ObservedMember | undefined, healthy: Member['healthy']): boolean | undefined {
  if (known === undefined) return healthy;
  return known.healthy === false || healthy === false ? false : (known.healthy ?? healthy);
}

/** The pieces with a load balancer as it is now, or without it. */
export function withLoadBalancer(found: Found, id: string, now: LoadBalancer | undefined): Found {
  const loadBalancers = found.loadBalancers.filter((one) => one.id !== id);
  if (now) loadBalancers.push(now);
  return { ...found, loadBalancers };
}

export function foundIn({ pieces }: OctaviaObserved): Found {
  const { own, hosts, doubles, kept, subject: _, adopted: __, ...rest } = pieces;
  return { ...rest, loadBalancers: [...new Set([own, ...hosts, ...doubles, kept])].filter((one) => one !== undefined) };
}
