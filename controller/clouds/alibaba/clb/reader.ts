import { type Detail, type Found, identityOf, isOwnedBy, type Query, type Reader } from '../../../engine/resource.ts';
import { normalCidr } from '../../ip-address.ts';
import { unlessNotFound } from '../../not-found.ts';
import { chunks, inParallel } from '../../parallel.ts';
import type { AlibabaClient, Params } from '../client.ts';
import { proveGone } from '../gone.ts';
import { isNetwork, networkSlots } from '../nlb/found.ts';
import { type NetworkReads, networkKinds, unlessRefused } from '../nlb/reads.ts';
import { callsAtOnce, type Reading, serversMaxAgeMs } from '../reading.ts';
import { foundBalancer, foundGroup, foundList, foundListener, kindNames, serverIn } from './found.ts';

/** Of calls that take ids. */
const idsAtOnce = 10;
const isIdOf = {
  balancer: /^lb-[0-9a-z]+$/,
  network: /^nlb-[0-9a-z]+$/,
  group: /^sgp-[0-9a-z]+$/,
  list: /^acl-[0-9a-z]+$/,
};

/**
 * Load balancers of one region, of both types, with their listeners; server groups of classic ones and servers of
 * network ones by calls of their own.
 */
export function createBalancerReader(client: AlibabaClient, network: NetworkReads, clusterId: string): Reader {
  const list = (params: Params, reading: Reading) =>
    client.list({
      product: 'slb',
      action: 'DescribeLoadBalancers',
      params,
      ...reading,
      paging: 'numbers',
      items: ['LoadBalancers', 'LoadBalancer'],
    });
  const listenersOf = (params: Params, reading: Reading) =>
    client.list({
      product: 'slb',
      action: 'DescribeLoadBalancerListeners',
      params,
      ...reading,
      items: ['Listeners'],
    });

  /** @param ids undefined: all of the region */
  async function read(ids: readonly string[] | undefined, reading: Reading): Promise<Found[]> {
    const some = ids === undefined ? [undefined] : chunks(ids, idsAtOnce);
    const answers = await inParallel(callsAtOnce, some, async (each) => {
      const one = each === undefined ? {} : { LoadBalancerId: each.join() };
      const balancers = (await list(one, reading)).map((one) => foundBalancer(one, clusterId));
      const missing = (each ?? []).filter((id) => !balancers.some((shown) => shown.id === id));
      await proveGone(client, { product: 'slb', action: 'DescribeLoadBalancerAttribute' }, missing, reading);
      const shown = each === undefined ? {} : { LoadBalancerId: balancers.map(({ id }) => id) };
      const isNone = each !== undefined && balancers.length === 0;
      return { balancers, listeners: isNone ? [] : await listenersOf(shown, reading) };
    });
    const balancers = new Map(answers.flatMap((answer) => answer.balancers).map((one) => [one.id, one]));
    const listeners = answers
      .flatMap((answer) => answer.listeners)
      .map((one) => foundListener(one, balancers.get(one.text('LoadBalancerId'))?.owner))
      .filter(({ within = '' }) => balancers.has(within));
    // A list of ours that it uses proves whose it is when its own tags are gone.
    const listsOf = ({ id }: Found) =>
      listeners
        .filter(({ within }) => within === id)
        .flatMap(({ refs = [] }) => refs.filter(({ role }) => role === 'list'))
        .map((ref) => ({ ...ref, loose: true as const }));
    return [...[...balancers.values()].map((one) => ({ ...one, refs: listsOf(one) })), ...listeners];
  }

  const groups: Detail = {
    kind: kindNames.balancer,
    parts: [kindNames.group],
    maxAgeMs: serversMaxAgeMs,
    async read(balancer, { signal }) {
      if (isNetwork(balancer.id)) return [];
      const region = await client.region(signal);
      const call = (action: string, params: Params) => client.call({ product: 'slb', action, params, signal });
      const answer = await unlessNotFound(call('DescribeVServerGroups', { LoadBalancerId: balancer.id }));
      const all = answer?.object('VServerGroups').objects('VServerGroup') ?? [];
      const found = await inParallel(callsAtOnce, all, async (one) => {
        const [id, name] = [one.text('VServerGroupId'), one.optionalText('VServerGroupName') ?? ''];
        const whole = await unlessNotFound(call('DescribeVServerGroupAttribute', { VServerGroupId: id }));
        const servers = whole?.object('BackendServers').objects('BackendServer').map(serverIn);
        const parts = { id, name, within: balancer.id };
        return servers && foundGroup({ ...parts, servers }, balancer.owner, region);
      });
      return found.filter((one) => one !== undefined);
    },
  };

  let isNetworkRefused = false;
  return {
    kinds: [kindNames.balancer, kindNames.listener, kindNames.group, ...networkKinds],
    async all(_cluster, { signal }) {
      const reading: Reading = { urgency: 'refresh', signal };
      const networks = unlessRefused(network.all(reading));
      const [classic, shown] = await Promise.all([read(undefined, reading), networks]);
      isNetworkRefused = shown === undefined;
      return [...classic, ...(shown ?? [])];
    },
    isUnknown: ({ kind, id }) =>
      isNetworkRefused && (networkKinds.some((one) => one === kind) || (kind === kindNames.balancer && isNetwork(id))),
    async of(query, { signal }) {
      const reading: Reading = { urgency: 'need', signal };
      const isNeeded = query.slots.some((slot) => slot.startsWith(networkSlots));
      const searched = async () => {
        const networks = isNeeded ? network.all(reading) : unlessRefused(network.all(reading));
        const [classic, shown = []] = await Promise.all([read(undefined, reading), networks]);
        return [...classic, ...shown];
      };
      const found = query.search ? await searched() : [];
      // A list may lag behind a read by id.
      const ids = idsIn(query, kindNames.balancer, isIdOf.balancer);
      const networkIds = idsIn(query, kindNames.balancer, isIdOf.network);
      const groupIds = idsIn(query, kindNames.networkGroup, isIdOf.group);
      const byId = [
        ...(ids.length === 0 ? [] : await read(ids, reading)),
        ...(await network.byId(networkIds, groupIds, reading)),
      ];
      const newer = new Set(byId.map(identityOf));
      const asked = new Set([...ids, ...networkIds]);
      const isOlder = (one: Found) => newer.has(identityOf(one)) || asked.has(one.within ?? '');
      return { found: [...byId, ...found.filter((one) => !isOlder(one))] };
    },
    detail: [groups, network.servers],
  };
}

/** Access lists of one region; the ranges of those of this cluster. */
export function createListReader(client: AlibabaClient): Reader {
  async function rangesOf(id: string, reading: Reading): Promise<Found | undefined> {
    const ranges: string[] = [];
    for (let at = 1; ; at += 1) {
      const params = { AclId: id, Page: at, PageSize: 50 };
      const request = { product: 'slb', action: 'DescribeAccessControlListAttribute', params, ...reading } as const;
      const answer = await unlessNotFound(client.call(request));
      if (answer === undefined) return undefined;
      const entries = answer.optionalObject('AclEntrys')?.optionalObjects('AclEntry') ?? [];
      ranges.push(...entries.map((one) => one.text('AclEntryIP')).map((range) => normalCidr(range) ?? range));
      if (entries.length === 0 || ranges.length >= (answer.optionalNumber('TotalAclEntry') ?? 0))
        return foundList(answer, ranges);
    }
  }
  async function list(reading: Reading, isOurs: (one: Found) => boolean): Promise<Found[]> {
    const all = await client.list({
      product: 'slb',
      action: 'DescribeAccessControlLists',
      perPage: 50,
      ...reading,
      paging: 'numbers',
      items: ['Acls', 'Acl'],
    });
    const found = all.map((one) => foundList(one, []));
    const read = await inParallel(callsAtOnce, found, async (one) => (isOurs(one) ? rangesOf(one.id, reading) : one));
    return read.filter((one) => one !== undefined);
  }
  return {
    kinds: [kindNames.list],
    all: (cluster, { signal }) => list({ urgency: 'refresh', signal }, ({ owner }) => owner?.cluster === cluster),
    async of(query, { signal }) {
      const reading: Reading = { urgency: 'need', signal };
      const ids = idsIn(query, kindNames.list, isIdOf.list);
      const byId = (await inParallel(callsAtOnce, ids, (id) => rangesOf(id, reading))).filter(
        (one) => one !== undefined,
      );
      const listed = query.search ? await list(reading, (one) => isOwnedBy(one, query.owner)) : [];
      return { found: [...byId, ...listed.filter(({ id }) => !ids.includes(id))] };
    },
  };
}

/** A record that users can write may name anything. */
function idsIn({ ids }: Query, kind: string, shape: RegExp): readonly string[] {
  return ids.filter((one) => one.kind === kind && shape.test(one.id)).map(({ id }) => id);
}
