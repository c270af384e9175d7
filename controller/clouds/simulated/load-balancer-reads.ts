import { isCloudError } from '../../../common/cloud-error.ts';
import { type LoadBalancerRef, type Owner, ownerTags } from '../load-balancers.ts';
import { adoptingOf, asOurs, classicName, classicTags, isAdoptable } from './adoption.ts';
import {
  type Address,
  addressName,
  families,
  type LoadBalancer,
  readAddress,
  readLoadBalancer,
  resourceIdForm,
  schemes,
} from './load-balancer-answer.ts';
import type { MemberSets } from './member-sets.ts';
import { assemble, type Found, givenUp, ownPools, type SimulatedObserved } from './observed.ts';
import { ownedBy, ownerIn } from './ownership.ts';
import { everyPage, itemsOf, reading, type Transport } from './transport.ts';

/** Lists show the members of pools up to this size; larger sets are known by their digest, or read once. */
const inlineMembers = 100;
const pageSize = 1000;

export interface LoadBalancerReads {
  observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<SimulatedObserved | undefined>;
  observeAll(
    cluster: string,
    signal?: AbortSignal,
    adoptable?: readonly LoadBalancerRef[],
  ): Promise<readonly SimulatedObserved[]>;
  /** Never out of date; undefined when the cloud says that this very one does not exist. */
  get(id: string, signal?: AbortSignal): Promise<LoadBalancer | undefined>;
  /** With the members of this Service's pools. */
  complete(loadBalancer: LoadBalancer, owner: Owner, signal?: AbortSignal): Promise<LoadBalancer>;
  /** One page of each kind, to prove that they may be read. */
  probe(signal?: AbortSignal): Promise<void>;
}

export interface ReadParts {
  readonly transport: Transport;
  readonly region: string;
  readonly sets: MemberSets;
}

export function loadBalancerReads({ transport, region, sets }: ReadParts): LoadBalancerReads {
  async function loadBalancers(operation: string, filter: string, signal?: AbortSignal): Promise<LoadBalancer[]> {
    const path = `/load-balancers?limit=${pageSize}&inlineMembers=${inlineMembers}${filter}`;
    const items = await everyPage(transport, { operation, path, signal });
    return reading(operation, () => items.map((item) => readLoadBalancer(item, region, sets)));
  }

  async function addresses(operation: string, filter: string, signal?: AbortSignal): Promise<Address[]> {
    const items = await everyPage(transport, { operation, path: `/addresses?limit=${pageSize}${filter}`, signal });
    return reading(operation, () => items.map(readAddress));
  }

  /** Those that have the names that are given to what is reserved for a load balancer of this name. Never out of date. */
  async function lookup(name: string, signal?: AbortSignal): Promise<Address[]> {
    const operation = 'addresses.lookup';
    const names = families.flatMap((family) => schemes.map((scheme) => addressName(name, family, scheme)));
    const value = await transport({ operation, path: `/addresses?names=${names.join(',')}`, signal });
    return reading(operation, () => itemsOf(value, operation).map(readAddress));
  }

  async function get(id: string, signal?: AbortSignal): Promise<LoadBalancer | undefined> {
    const operation = 'load-balancers.get';
    if (!resourceIdForm.test(id)) return undefined;
    try {
      const item = await transport({ operation, path: `/load-balancers/${id}`, signal });
      return reading(operation, () => {
        const loadBalancer = readLoadBalancer(item, region, sets);
        if (loadBalancer.id !== id) throw new TypeError(`id: ${loadBalancer.id}, expected ${id}`);
        return loadBalancer;
      });
    } catch (error) {
      if (isCloudError(error) && error.kind === 'NotFound') return undefined;
      throw error;
    }
  }

  async function complete(loadBalancer: LoadBalancer, owner: Owner, signal?: AbortSignal): Promise<LoadBalancer> {
    if (ownPools(loadBalancer, owner).every(({ members }) => members !== undefined)) return loadBalancer;
    return (await get(loadBalancer.id, signal)) ?? loadBalancer;
  }

  async function observe(ref: LoadBalancerRef, signal?: AbortSignal): Promise<SimulatedObserved | undefined> {
    const { owner, name, attachTo, address } = ref;
    const tag = tagged(ownerTags.service, owner.service);
    const asked = [...new Set([ref.id, attachTo].filter((id) => id !== undefined))];
    const adopting = adoptingOf(ref);
    const named = (wanted: string) =>
      loadBalancers('load-balancers.find', `&name=${encodeURIComponent(wanted)}`, signal);
    const byName = () => named(name);
    const classic = () => (adopting ? named(classicName(adopting.clusterName, adopting.service)) : []);
    const [byId, tagHits, early, reserved, wished, classicHits] = await Promise.all([
      Promise.all(asked.map((id) => get(id, signal))),
      loadBalancers('load-balancers.list', tag, signal),
      ref.id === undefined ? byName() : [],
      lookup(name, signal),
      address === undefined ? [] : addresses('addresses.find', `&ip=${encodeURIComponent(address)}`, signal),
      classic(),
    ]);
    const proved = byId.some((one) => one && ownedBy(one.tags, owner));
    const late = ref.id === undefined || proved ? [] : await byName();
    const found = new Map(byId.flatMap((one) => (one ? [[one.id, one]] : [])));
    // A search may be out of date; what it names is read anew, and ids that were asked for are known already.
    const hits = new Set(
      [...tagHits, ...early, ...late, ...classicHits].map(({ id }) => id).filter((id) => !asked.includes(id)),
    );
    for (const one of await Promise.all([...hits].map((id) => get(id, signal)))) if (one) found.set(one.id, one);
    const all = [...found.values()];
    const known = new Set([...reserved, ...wished].map(({ id }) => id));
    const own = all.filter(({ tags }) => ownedBy(tags, owner)).flatMap((one) => one.addresses);
    const others = own.some(({ id }) => id !== undefined && !known.has(id))
      ? await addresses('addresses.list', tag, signal)
      : [];
    const adopted = adopting && all.find((one) => isAdoptable(one, adopting));
    const theirs = await Promise.all(
      (adopted?.addresses ?? [])
        .filter(({ id }) => id !== undefined && !known.has(id))
        .map(({ ip }) => addresses('addresses.find', `&ip=${encodeURIComponent(ip)}`, signal)),
    );
    const ours = [...reserved, ...[...others, ...theirs.flat()].filter(({ id }) => !known.has(id))];
    const subject = { owner, name, attachTo, adopting };
    return assemble(subject, { loadBalancers: all, addresses: ours, reserved: wished });
  }

  async function observeAll(
    cluster: string,
    signal?: AbortSignal,
    adoptable: readonly LoadBalancerRef[] = [],
  ): Promise<readonly SimulatedObserved[]> {
    const tag = tagged(ownerTags.cluster, cluster);
    const clusterName = adoptable[0]?.adopt?.clusterName;
    const [listed, reserved, classic] = await Promise.all([
      loadBalancers('load-balancers.list', tag, signal),
      addresses('addresses.list', '', signal),
      clusterName === undefined
        ? []
        : loadBalancers('load-balancers.list', tagged(classicTags.cluster, clusterName), signal),
    ]);
    const adopted = adoptions(listed, classic, adoptable);
    const views = adopted.map(({ ref, loadBalancer }) => asOurs(loadBalancer, ref.owner, ref.service));
    const whole = await withMembers([...listed, ...views], cluster, signal);
    const all = whole.slice(0, listed.length);
    const groups = new Map<
      string,
      { found: Found & { loadBalancers: LoadBalancer[]; addresses: Address[] }; owner: Owner }
    >();
    const groupOf = (owner: Owner) => {
      const fresh = { found: { loadBalancers: [], addresses: [], reserved }, owner };
      const group = groups.get(owner.service) ?? fresh;
      groups.set(owner.service, group);
      return group.found;
    };
    const rest: SimulatedObserved[] = [];
    for (const one of all) {
      const owners = ownersIn(one, cluster);
      for (const owner of owners) groupOf(owner).loadBalancers.push(one);
      if (owners.length === 0) rest.push(givenUp(one, undefined));
    }
    for (const one of reserved) {
      if (one.tags[ownerTags.cluster] !== cluster) continue;
      const owner = ownerIn(one.tags, cluster);
      if (owner) groupOf(owner).addresses.push(one);
      else if (!all.some(({ id }) => id === one.usedBy)) rest.push(givenUp(undefined, one));
    }
    const owned = [...groups.values()].map(({ owner, found }) => {
      const own = found.loadBalancers.find(({ tags }) => ownedBy(tags, owner));
      return assemble({ owner, name: own?.name ?? '', attachTo: undefined }, found);
    });
    const taken = adopted.map(({ ref, loadBalancer }, index) => {
      const { pools } = whole[listed.length + index] ?? loadBalancer;
      const found = {
        loadBalancers: [{ ...loadBalancer, pools: withMembersOf(loadBalancer, pools) }],
        addresses: reserved,
      };
      const { owner, name } = ref;
      return assemble({ owner, name, attachTo: undefined, adopting: adoptingOf(ref) }, { ...found, reserved });
    });
    // Some of its parts may have our tags already.
    const takers = new Set(adopted.map(({ ref }) => ref.owner.service));
    const others = owned.filter((one) => one?.owner === undefined || !takers.has(one.owner.service));
    return [...[...others, ...taken].filter((one) => one !== undefined), ...rest];
  }

  /** What may be taken over; not for whom there is something of ours already. */
  function adoptions(
    ours: readonly LoadBalancer[],
    classic: readonly LoadBalancer[],
    refs: readonly LoadBalancerRef[],
  ) {
    return refs.flatMap((ref) => {
      const adopting = adoptingOf(ref);
      if (!adopting || ours.some(({ tags }) => ownedBy(tags, ref.owner))) return [];
      const loadBalancer = classic.find((one) => isAdoptable(one, adopting));
      return loadBalancer ? [{ ref, loadBalancer }] : [];
    });
  }

  /** One read for each set of members that is not known yet. */
  async function withMembers(listed: LoadBalancer[], cluster: string, signal?: AbortSignal): Promise<LoadBalancer[]> {
    const result: LoadBalancer[] = [];
    for (const one of listed) {
      const lacks = one.pools.some(
        (pool) => !pool.members && ownerIn(pool.tags, cluster) && !sets.known(pool.memberDigest),
      );
      const whole = lacks ? ((await get(one.id, signal)) ?? one) : one;
      const pools = whole.pools.map((pool) =>
        pool.members ? pool : { ...pool, members: sets.known(pool.memberDigest) },
      );
      result.push({ ...whole, pools });
    }
    sets.keep(new Set(result.flatMap(({ pools }) => pools.map(({ memberDigest }) => memberDigest))));
    return result;
  }

  return {
    observe,
    observeAll,
    get,
    complete,
    async probe(signal) {
      await transport({ operation: 'load-balancers.list', path: '/load-balancers?limit=1&inlineMembers=0', signal });
      await transport({ operation: 'addresses.list', path: '/addresses?limit=1', signal });
    },
  };
}

/** Its own pools, with the members that were read. */
function withMembersOf({ pools }: LoadBalancer, read: LoadBalancer['pools']): LoadBalancer['pools'] {
  return pools.map((pool) => ({ ...pool, members: read.find(({ id }) => id === pool.id)?.members }));
}

/** Whose it is or whose pieces it carries, of this cluster. */
function ownersIn({ tags, listeners, pools }: LoadBalancer, cluster: string): Owner[] {
  const own = ownerIn(tags, cluster);
  const owners = new Map<string, Owner>(own ? [[own.service, own]] : []);
  for (const piece of [...listeners, ...pools]) {
    const owner = ownerIn(piece.tags, cluster);
    if (owner) owners.set(owner.service, owner);
  }
  return [...owners.values()];
}

function tagged(key: string, value: string): string {
  return `&tag=${encodeURIComponent(`${key}:${value}`)}`;
}
