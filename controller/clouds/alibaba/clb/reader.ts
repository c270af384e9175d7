import { type Detail, type Found, isOwnedBy, type Reader } from '../../../engine/resource.ts';
import { normalCidr } from '../../ip-address.ts';
import { type Reading, readerOf } from '../../list-reader.ts';
import { unlessNotFound } from '../../not-found.ts';
import { inParallel } from '../../parallel.ts';
import { type BalancerCalls, callsAtOnce, readBalancers, serversMaxAgeMs } from '../balancer-reads.ts';
import type { AlibabaClient, Params } from '../client.ts';
import { isNetwork, networkSlots } from '../nlb/found.ts';
import { type NetworkReads, networkKinds, unlessRefused } from '../nlb/reads.ts';
import { foundBalancer, foundGroup, foundList, foundListener, kindNames, serverIn } from './found.ts';

/**
 * Load balancers of one region, of both types, with their listeners; server groups of classic ones and servers of
 * network ones by calls of their own.
 */
export function createBalancerReader(client: AlibabaClient, network: NetworkReads, clusterId: string): Reader {
  const classic: BalancerCalls = {
    product: 'slb',
    attribute: 'DescribeLoadBalancerAttribute',
    idsAtOnce: 10,
    proof: 'list',
    async balancers(ids, reading) {
      const shown = await client.list({
        product: 'slb',
        action: 'DescribeLoadBalancers',
        params: { LoadBalancerId: ids?.join() },
        ...reading,
        paging: 'numbers',
        items: ['LoadBalancers', 'LoadBalancer'],
      });
      return shown.map((one) => foundBalancer(one, clusterId));
    },
    listeners: (ids, reading) =>
      client.list({
        product: 'slb',
        action: 'DescribeLoadBalancerListeners',
        params: { LoadBalancerId: ids },
        ...reading,
        items: ['Listeners'],
      }),
    foundListener,
  };

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

  async function networks(reading: Reading): Promise<Found[]> {
    const reads = [readBalancers(client, network.calls, undefined, reading), network.groups(undefined, reading)];
    return (await Promise.all(reads)).flat();
  }

  let isNetworkRefused = false;
  return readerOf({
    kinds: [kindNames.balancer, kindNames.listener, kindNames.group, ...networkKinds],
    ids: { [kindNames.balancer]: /^n?lb-[0-9a-z]+$/, [kindNames.networkGroup]: /^sgp-[0-9a-z]+$/ },
    async list(_cluster, reading, query) {
      const isNeeded = query?.slots.some((slot) => slot.startsWith(networkSlots));
      const shown = isNeeded ? networks(reading) : unlessRefused(networks(reading));
      const [others, ofNetwork] = await Promise.all([readBalancers(client, classic, undefined, reading), shown]);
      if (query === undefined) isNetworkRefused = ofNetwork === undefined;
      return [...others, ...(ofNetwork ?? [])];
    },
    isUnknown: ({ kind, id }) =>
      isNetworkRefused && (networkKinds.some((one) => one === kind) || (kind === kindNames.balancer && isNetwork(id))),
    async byIds(ids, reading) {
      const of = (prefix: string) => ids.filter((id) => id.startsWith(prefix));
      const reads = [
        readBalancers(client, classic, of('lb-'), reading),
        readBalancers(client, network.calls, of('nlb-'), reading),
        network.groups(of('sgp-'), reading),
      ];
      return (await Promise.all(reads)).flat();
    },
    detail: [groups, network.servers],
  });
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
  return readerOf({
    kinds: [kindNames.list],
    ids: { [kindNames.list]: /^acl-[0-9a-z]+$/ },
    async list(cluster, reading, query) {
      const all = await client.list({
        product: 'slb',
        action: 'DescribeAccessControlLists',
        perPage: 50,
        ...reading,
        paging: 'numbers',
        items: ['Acls', 'Acl'],
      });
      const isNeeded = (one: Found) =>
        query === undefined ? one.owner?.cluster === cluster : isOwnedBy(one, query.owner);
      const read = await inParallel(callsAtOnce, all, async (fields) => {
        const one = foundList(fields, []);
        return isNeeded(one) ? rangesOf(one.id, reading) : one;
      });
      return read.filter((one) => one !== undefined);
    },
    async byIds(ids, reading) {
      const read = await inParallel(callsAtOnce, ids, (id) => rangesOf(id, reading));
      return read.filter((one) => one !== undefined);
    },
  });
}
