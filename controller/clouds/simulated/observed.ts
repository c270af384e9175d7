import { type Ingress, type ObservedLoadBalancer, type Owner, ownerTags } from '../load-balancers.ts';
import { type Adopting, adoption, type Unmarked } from './adoption.ts';
import type { Tags } from './answer-fields.ts';
import type { Address, Listener, LoadBalancer, Pool } from './load-balancer-answer.ts';
import { ownedBy } from './ownership.ts';

/** Whose things are looked at. */
export interface Subject {
  readonly owner: Owner;
  /** That its load balancer has or would have. */
  readonly name: string;
  /** Id of the load balancer that somebody else made and it is to use. */
  readonly attachTo: string | undefined;
  /** What the classic controller made counts as ours. */
  readonly adopting?: Adopting | undefined;
}

/** Everything of one Service, piece by piece. */
export interface Pieces {
  /** Undefined for what was given up on purpose and has no Service any more. */
  readonly subject: Subject | undefined;
  /** Carries our tags itself. */
  readonly own: LoadBalancer | undefined;
  /** Made by somebody else, with listeners or pools of ours; also the one to attach to. */
  readonly hosts: readonly LoadBalancer[];
  /** Not ours: in the way by its name, or given up. */
  readonly foreign: LoadBalancer | undefined;
  /** Carry our tags. */
  readonly addresses: readonly Address[];
  /** Among which the one that the Service names by its IP is found. */
  readonly reserved: readonly Address[];
  /** `own` and some of `addresses` as the cloud shows them, where they are shown here with tags that they are yet to get. */
  readonly unmarked?: Unmarked | undefined;
}

export interface SimulatedObserved extends ObservedLoadBalancer {
  readonly pieces: Pieces;
}

export interface Found {
  readonly loadBalancers: readonly LoadBalancer[];
  readonly addresses: readonly Address[];
  readonly reserved: readonly Address[];
}

export function ownListeners({ listeners }: LoadBalancer, owner: Owner): readonly Listener[] {
  return listeners.filter(({ tags }) => ownedBy(tags, owner));
}

export function ownPools({ pools }: LoadBalancer, owner: Owner): readonly Pool[] {
  return pools.filter(({ tags }) => ownedBy(tags, owner));
}

export function carriesPieces(loadBalancer: LoadBalancer, owner: Owner): boolean {
  return ownListeners(loadBalancer, owner).length > 0 || ownPools(loadBalancer, owner).length > 0;
}

/** Puts together what was found. Undefined when it is nothing. */
export function assemble(subject: Subject, found: Found): SimulatedObserved | undefined {
  const { owner, name, attachTo, adopting } = subject;
  const adopted = adoption(owner, adopting, found);
  const { loadBalancers, addresses, reserved } = adopted?.found ?? found;
  const ours = loadBalancers.filter(({ tags }) => ownedBy(tags, owner));
  const own = ours.find((one) => one.name === name) ?? ours[0];
  const others = loadBalancers.filter((one) => !ours.includes(one));
  const hosts = others.filter((one) => one.id === attachTo || carriesPieces(one, owner));
  const foreign = others.find((one) => (one.name === name || one.id === adopting?.id) && !hosts.includes(one));
  const ownAddresses = addresses.filter(({ tags }) => ownedBy(tags, owner));
  const unmarked = adopted?.unmarked;
  const pieces: Pieces = { subject, own, hosts, foreign, addresses: ownAddresses, reserved, unmarked };
  const host = hosts.find((one) => one.id === attachTo) ?? hosts[0];
  const serves = host !== undefined && ownListeners(host, owner).length > 0;
  const inUse = host && (serves || !own) && (attachTo !== undefined || !own) ? host : own;
  const main = inUse ?? foreign;
  if (!main && ownAddresses.length === 0 && reserved.length === 0) return undefined;
  const anything = own ?? hosts.find((one) => carriesPieces(one, owner)) ?? ownAddresses[0];
  const pool = main && main !== foreign ? ownPools(main, owner)[0] : undefined;
  return {
    pieces,
    ...shownOf(main, ownAddresses[0]?.tags ?? {}),
    name: main?.name ?? name,
    owner: anything && owner,
    members: pool?.members ?? [],
    ingress: main && main !== foreign ? ingressOf(main, owner) : [],
    attached: main !== undefined && main === host && main !== own,
    ...(unmarked && { adopted: true }),
  };
}

/** What was given up, as a list of the whole cluster shows it. */
export function givenUp(loadBalancer: LoadBalancer | undefined, address: Address | undefined) {
  const tags = loadBalancer?.tags ?? address?.tags ?? {};
  const observed: SimulatedObserved = {
    pieces: {
      subject: undefined,
      own: undefined,
      hosts: [],
      foreign: loadBalancer,
      addresses: address ? [address] : [],
      reserved: [],
    },
    ...shownOf(loadBalancer, tags),
    name: loadBalancer?.name ?? address?.ip ?? '',
    owner: undefined,
    members: [],
    ingress: [],
    attached: false,
  };
  return observed;
}

function shownOf(main: LoadBalancer | undefined, otherTags: Tags) {
  const tags = main?.tags ?? otherTags;
  return {
    id: main?.id,
    state: main?.state ?? ('active' as const),
    createdAtMs: main?.createdAtMs,
    service: tags[ownerTags.serviceName] ?? tags[ownerTags.retained],
    retained: tags[ownerTags.retained] !== undefined,
  };
}

function ingressOf(main: LoadBalancer, owner: Owner): Ingress[] {
  const proxied = ownListeners(main, owner).some(({ proxyProtocol, tls }) => proxyProtocol || tls);
  return main.addresses.map(({ ip }) => (proxied ? { ip, ipMode: 'Proxy' } : { ip }));
}

/** The pieces with a load balancer as it is now, or without it. */
export function withLoadBalancer(found: Found, id: string, now: LoadBalancer | undefined): Found {
  const loadBalancers = found.loadBalancers.filter((one) => one.id !== id);
  if (now) loadBalancers.push(now);
  const user = ({ id: address, usedBy }: Address) => {
    if (now?.addresses.some((one) => one.id === address)) return now.id;
    return usedBy === id ? undefined : usedBy;
  };
  const used = (address: Address): Address => ({ ...address, usedBy: user(address) });
  return { loadBalancers, addresses: found.addresses.map(used), reserved: found.reserved.map(used) };
}

export function withAddress(found: Found, id: string, now: Address | undefined): Found {
  const addresses = found.addresses.filter((one) => one.id !== id);
  if (now) addresses.push(now);
  const reserved = found.reserved.flatMap((one) => (one.id === id ? (now ?? []) : one));
  return { ...found, addresses, reserved };
}

export function foundIn(observed: SimulatedObserved | undefined): Found {
  if (!observed) return { loadBalancers: [], addresses: [], reserved: [] };
  const { own, hosts, foreign, addresses, reserved, unmarked } = observed.pieces;
  const loadBalancers = [unmarked?.loadBalancer ?? own, ...hosts, foreign].filter((one) => one !== undefined);
  const asShown = new Map(unmarked?.addresses.map((one) => [one.id, one]));
  return { loadBalancers, addresses: addresses.map((one) => asShown.get(one.id) ?? one), reserved };
}
