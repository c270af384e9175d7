import { isCloudError } from '../../../../common/cloud-error.ts';
import { HttpFailure } from '../../../../common/process/http.ts';
import type { Detail, Found } from '../../../engine/resource.ts';
import type { Reading } from '../../list-reader.ts';
import { unlessNotFound } from '../../not-found.ts';
import { chunks, inParallel } from '../../parallel.ts';
import { type BalancerCalls, callsAtOnce, serversMaxAgeMs } from '../balancer-reads.ts';
import { kindNames, serverIn } from '../clb/found.ts';
import type { AlibabaClient, Params } from '../client.ts';
import { codeOf } from '../fault.ts';
import { foundNetworkBalancer, foundNetworkGroup, foundNetworkListener, foundServers } from './found.ts';

export const networkKinds = [kindNames.networkGroup, kindNames.networkListener, kindNames.servers] as const;

export type NetworkReads = ReturnType<typeof createNetworkReads>;

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

/** What the reader of load balancers asks of Network Load Balancers. Each answer is complete, or throws. */
export function createNetworkReads(client: AlibabaClient, clusterId: string) {
  const list = (action: string, items: string, params: Params, reading: Partial<Reading>) =>
    client.list({ product: 'nlb', action, params, ...reading, items: [items] });

  const calls: BalancerCalls = {
    product: 'nlb',
    attribute: 'GetLoadBalancerAttribute',
    idsAtOnce,
    proof: 'group',
    async balancers(LoadBalancerIds, reading) {
      const shown = await list('ListLoadBalancers', 'LoadBalancers', { LoadBalancerIds }, reading);
      return shown.map((one) => foundNetworkBalancer(one, clusterId));
    },
    listeners: (LoadBalancerIds, reading) => list('ListListeners', 'Listeners', { LoadBalancerIds }, reading),
    foundListener: foundNetworkListener,
  };
  const servers: Detail = {
    kind: kindNames.networkGroup,
    parts: [kindNames.servers],
    maxAgeMs: serversMaxAgeMs,
    async read(group, { signal }) {
      const read = list('ListServerGroupServers', 'Servers', { ServerGroupId: group.id }, { signal });
      const shown = ((await unlessNotFound(read)) ?? []).map(serverIn);
      return shown.length === 0 ? [] : [foundServers(group, shown, await client.region(signal))];
    },
  };
  return {
    calls,
    servers,
    /** @param ids undefined: all of the region */
    async groups(ids: readonly string[] | undefined, reading: Reading): Promise<readonly Found[]> {
      const some = ids === undefined ? [undefined] : chunks(ids, idsAtOnce);
      const shown = await inParallel(callsAtOnce, some, (ServerGroupIds) =>
        list('ListServerGroups', 'ServerGroups', { ServerGroupIds }, reading),
      );
      return shown.flat().map((one) => foundNetworkGroup(one, clusterId));
    },
  };
}
