import { isCloudError } from '../../../../common/cloud-error.ts';
import { HttpFailure } from '../../../../common/process/http.ts';
import type { Detail, Found } from '../../../engine/resource.ts';
import { unlessNotFound } from '../../not-found.ts';
import { chunks, inParallel } from '../../parallel.ts';
import { kindNames, serverIn } from '../clb/found.ts';
import type { AlibabaClient, Params } from '../client.ts';
import { codeOf } from '../fault.ts';
import { proveGone } from '../gone.ts';
import { callsAtOnce, type Reading, serversMaxAgeMs } from '../reading.ts';
import { foundNetworkBalancer, foundNetworkGroup, foundNetworkListener, foundServers } from './found.ts';

export const networkKinds = [kindNames.networkGroup, kindNames.networkListener, kindNames.servers] as const;

/** What the reader of load balancers asks of Network Load Balancers. Each answer is complete, or throws. */
export interface NetworkReads {
  all(reading: Reading): Promise<readonly Found[]>;
  byId(balancers: readonly string[], groups: readonly string[], reading: Reading): Promise<readonly Found[]>;
  readonly servers: Detail;
}

/**
 * Undefined where the account may not read Network Load Balancers, or the region has none: Services of the other type
 * do not depend on them.
 */
export async function unlessRefused<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    const isRefused = isCloudError(error) && error.kind === 'Forbidden';
    if (isRefused || isWithoutEndpoint(error) || codeOf(error).startsWith('InvalidRegionId')) return undefined;
    throw error;
  }
}

function isWithoutEndpoint(error: unknown): boolean {
  const failure = isCloudError(error) ? error.cause : undefined;
  return failure instanceof HttpFailure && (failure.cause as { code?: unknown } | undefined)?.code === 'ENOTFOUND';
}

/** Of calls that take ids. */
const idsAtOnce = 20;

export function createNetworkReads(client: AlibabaClient, clusterId: string): NetworkReads {
  const list = (action: string, items: string, params: Params, reading: Partial<Reading>) =>
    client.list({ product: 'nlb', action, params, ...reading, items: [items] });

  /** @param ids undefined: all of the region */
  async function balancers(ids: readonly string[] | undefined, reading: Reading): Promise<Found[]> {
    const of = ids === undefined ? {} : { LoadBalancerIds: ids };
    const shown = await list('ListLoadBalancers', 'LoadBalancers', of, reading);
    const found = new Map(shown.map((one) => foundNetworkBalancer(one, clusterId)).map((one) => [one.id, one]));
    const missing = (ids ?? []).filter((id) => !found.has(id));
    await proveGone(client, { product: 'nlb', action: 'GetLoadBalancerAttribute' }, missing, reading);
    const listed = found.size === 0 ? [] : await list('ListListeners', 'Listeners', of, reading);
    const listeners = listed
      .map((one) => foundNetworkListener(one, found.get(one.text('LoadBalancerId'))?.owner))
      .filter(({ within = '' }) => found.has(within));
    // A group of ours that it uses proves whose it is when its own tags are gone.
    const groupsOf = (id: string) =>
      listeners
        .filter(({ within }) => within === id)
        .flatMap(({ refs = [] }) => refs.map((ref) => ({ ...ref, loose: true as const })));
    return [...[...found.values()].map((one) => ({ ...one, refs: groupsOf(one.id) })), ...listeners];
  }
  async function groups(ids: readonly string[] | undefined, reading: Reading): Promise<Found[]> {
    const of = ids === undefined ? {} : { ServerGroupIds: ids };
    const shown = await list('ListServerGroups', 'ServerGroups', of, reading);
    return shown.map((one) => foundNetworkGroup(one, clusterId));
  }
  return {
    all: async (reading) => (await Promise.all([balancers(undefined, reading), groups(undefined, reading)])).flat(),
    async byId(balancerIds, groupIds, reading) {
      const reads = [
        ...chunks(balancerIds, idsAtOnce).map((ids) => () => balancers(ids, reading)),
        ...chunks(groupIds, idsAtOnce).map((ids) => () => groups(ids, reading)),
      ];
      return (await inParallel(callsAtOnce, reads, (read) => read())).flat();
    },
    servers: {
      kind: kindNames.networkGroup,
      parts: [kindNames.servers],
      maxAgeMs: serversMaxAgeMs,
      async read(group, { signal }) {
        const read = list('ListServerGroupServers', 'Servers', { ServerGroupId: group.id }, { signal });
        const servers = ((await unlessNotFound(read)) ?? []).map(serverIn);
        return servers.length === 0 ? [] : [foundServers(group, servers, await client.region(signal))];
      },
    },
  };
}
