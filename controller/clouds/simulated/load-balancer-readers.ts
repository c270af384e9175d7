import type { Found, Query, Reader, ReadIo } from '../../engine/resource.ts';
import type { AnswerFields } from '../answer-fields.ts';
import type { ApiRequest } from '../json-api.ts';
import { ownerTags } from '../load-balancers.ts';
import { unlessNotFound } from '../not-found.ts';
import { foundAddress, foundAll, kinds } from './found.ts';
import type { CallParts } from './kinds/calls.ts';
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
import { everyItem } from './pages.ts';

/** Lists show the members of pools up to this size; larger sets are known by their digest, or read once. */
const inlineMembers = 100;
const paging = [['limit', '1000']] as const;

type Filter = NonNullable<ApiRequest['query']>;

export function createReaders({ api, region, sets }: CallParts) {
  async function list(operation: string, filter: Filter, { signal }: ReadIo): Promise<LoadBalancer[]> {
    const query = [...paging, ['inlineMembers', String(inlineMembers)] as const, ...filter];
    const items = await everyItem(api, { operation, path: '/load-balancers', query, signal });
    return items.map((item) => readLoadBalancer(item, region, sets));
  }

  async function addresses(operation: string, filter: Filter, { signal }: ReadIo): Promise<Address[]> {
    const items = await everyItem(api, { operation, path: '/addresses', query: [...paging, ...filter], signal });
    return items.map(readAddress);
  }

  async function one<T>(operation: string, path: string, id: string, read: (fields: AnswerFields) => T, io: ReadIo) {
    if (!resourceIdForm.test(id)) return undefined;
    const item = await unlessNotFound(api.call({ operation, path: `${path}/${id}`, signal: io.signal }));
    return item && read(item);
  }

  /** Never out of date; undefined where the cloud says that this very one does not exist. */
  const get = (id: string, io: ReadIo) =>
    one('load-balancers.get', '/load-balancers', id, (item) => readLoadBalancer(item, region, sets), io);

  /** One read for each set of members that is not known yet. */
  async function withMembers(listed: readonly LoadBalancer[], cluster: string, io: ReadIo): Promise<LoadBalancer[]> {
    const whole: LoadBalancer[] = [];
    for (const each of listed) {
      const lacks = ({ tags, members, memberDigest }: LoadBalancer['pools'][number]) =>
        tags[ownerTags.cluster] === cluster && members === undefined && sets.known(memberDigest) === undefined;
      const full = each.pools.some(lacks) ? ((await get(each.id, io)) ?? each) : each;
      const pools = full.pools.map((pool) => ({ ...pool, members: pool.members ?? sets.known(pool.memberDigest) }));
      whole.push({ ...full, pools });
    }
    sets.keep(new Set(whole.flatMap(({ pools }) => pools.map(({ memberDigest }) => memberDigest))));
    return whole;
  }

  const loadBalancers: Reader = {
    kinds: [kinds.loadBalancer, kinds.pool, kinds.listener],
    async all(cluster, io) {
      const listed = await withMembers(await list('load-balancers.list', [], io), cluster, io);
      return listed.flatMap((each) => ofCluster(foundAll(each), each.tags, cluster));
    },
    async of({ owner, ids, slots, search }, io) {
      const asked = idsOf(ids, kinds.loadBalancer);
      const [byId, tagged] = await Promise.all([
        Promise.all(asked.map((id) => get(id, io))),
        search ? list('load-balancers.list', tagFilter(ownerTags.service, owner.service), io) : [],
      ]);
      const isProved = byId.some((each) => each?.tags[ownerTags.service] === owner.service);
      const names = search && !isProved ? valuesOf(slots, 'name') : [];
      const named = await Promise.all(names.map((name) => list('load-balancers.find', [['name', name]], io)));
      // A search may be out of date: what it names is read again.
      const hits = new Set([...tagged, ...named.flat()].map(({ id }) => id).filter((id) => !asked.includes(id)));
      const read = [...byId, ...(await Promise.all([...hits].map((id) => get(id, io))))];
      return { found: read.flatMap((each) => (each === undefined ? [] : foundAll(each))), isFresh: true };
    },
  };

  const addressReader: Reader = {
    kinds: [kinds.address],
    async all(cluster, io) {
      const listed = await addresses('addresses.list', [], io);
      return listed.flatMap((each) => ofCluster([foundAddress(each)], each.tags, cluster));
    },
    async of({ owner, ids, slots, search }, io) {
      const names = valuesOf(slots, 'name');
      const isByTagAlone = search && names.length === 0;
      const [reserved, ...hits] = await Promise.all([
        names.length > 0 ? lookup(names, io) : [],
        isByTagAlone ? addresses('addresses.list', tagFilter(ownerTags.service, owner.service), io) : [],
        ...valuesOf(slots, 'ip').map((ip) => addresses('addresses.find', [['ip', ip]], io)),
      ]);
      const shown = new Set(reserved.map(({ id }) => id));
      const asked = new Set([...idsOf(ids, kinds.address), ...hits.flat().map(({ id }) => id)]);
      const rest = [...asked].filter((id) => !shown.has(id));
      const byId = await Promise.all(rest.map((id) => one('addresses.get', '/addresses', id, readAddress, io)));
      return { found: [...reserved, ...byId.flatMap((each) => each ?? [])].map(foundAddress), isFresh: true };
    },
  };

  /** Those that are reserved for load balancers of these names. Never out of date. */
  async function lookup(loadBalancerNames: readonly string[], { signal }: ReadIo): Promise<Address[]> {
    const names = loadBalancerNames.flatMap((name) =>
      families.flatMap((family) => schemes.map((scheme) => addressName(name, family, scheme))),
    );
    const query = [['names', names.join(',')]] as const;
    const answer = await api.call({ operation: 'addresses.lookup', path: '/addresses', query, signal });
    return answer.objects('items').map(readAddress);
  }

  return { readers: [loadBalancers, addressReader], get };
}

/** What another cluster has kept is none of ours to count. */
function ofCluster(found: readonly Found[], tags: Readonly<Record<string, string>>, cluster: string) {
  if (tags[ownerTags.cluster] === cluster) return found;
  return found.map(({ retained: _, ...rest }): Found => rest);
}

function tagFilter(key: string, value: string): Filter {
  return [['tag', `${key}:${value}`]];
}

function idsOf(ids: Query['ids'], kind: string): readonly string[] {
  return ids.flatMap((one) => (one.kind === kind ? [one.id] : []));
}

function valuesOf(slots: readonly string[], what: 'name' | 'ip'): readonly string[] {
  return slots.flatMap((slot) => (slot.startsWith(`${what} `) ? [slot.slice(what.length + 1)] : []));
}
