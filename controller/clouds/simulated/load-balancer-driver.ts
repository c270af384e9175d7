import { CloudError } from '../../../common/cloud-error.ts';
import type { OperationState } from '../../engine/resource.ts';
import type { JsonApi } from '../json-api.ts';
import type { LoadBalancerDriver } from '../load-balancer-driver.ts';
import { ownerTags } from '../load-balancers.ts';
import { adopts, classicName } from './adoption.ts';
import { annotations } from './annotations.ts';
import { desireOf } from './desire.ts';
import { cloud } from './fault.ts';
import { kinds, type Part } from './found.ts';
import { addressKind } from './kinds/addresses.ts';
import { createCalls } from './kinds/calls.ts';
import { listenerKind } from './kinds/listeners.ts';
import { loadBalancerKind } from './kinds/load-balancers.ts';
import { poolKind } from './kinds/pools.ts';
import { nodeLabels } from './load-balancer-annotations.ts';
import type { Address, Listener, LoadBalancer, Pool } from './load-balancer-answer.ts';
import { createReaders } from './load-balancer-readers.ts';
import { createMemberSets } from './member-sets.ts';

export interface DriverParts {
  readonly api: JsonApi;
  readonly region: string;
  /** The instance id, when this scope could hold it. */
  readonly idOf: (providerID: string) => string | undefined;
  readonly maxMembers: number | undefined;
  readonly settleMs: number;
}

/** The load balancers of one project and region. */
export function createLoadBalancerDriver({ api, region, idOf, maxMembers, settleMs }: DriverParts): LoadBalancerDriver {
  const sets = createMemberSets(idOf);
  const { readers, get } = createReaders({ api, region, sets });
  const calls = createCalls({ api, region, sets });
  return {
    annotations,
    nodeLabels,
    maxMembers,
    drains: true,
    main: kinds.loadBalancer,
    kinds: [
      addressKind(api, settleMs),
      loadBalancerKind(calls, settleMs),
      poolKind(calls, settleMs),
      listenerKind(calls, settleMs),
    ],
    readers,
    desire: (input) => desireOf(input, sets),
    adopts,
    slots: ({ name, address, adopt, service }) => [
      `name ${name}`,
      ...(address === undefined ? [] : [`ip ${address}`]),
      ...(adopt === undefined ? [] : [`name ${classicName(adopt.clusterName, service)}`]),
    ],
    show({ kind, body }, parts) {
      const { tags } = body as LoadBalancer | Address;
      const service = tags[ownerTags.serviceName] ?? tags[ownerTags.retained];
      if (kind === kinds.address) return { name: (body as Address).ip, ingress: [], service };
      const { name, createdAtMs, addresses } = body as LoadBalancer;
      const listeners = parts.flatMap((one) => (one.kind === kinds.listener ? [one.body as Part<Listener>] : []));
      const isProxied = listeners.some(({ proxyProtocol, tls }) => proxyProtocol || tls);
      const ingress = addresses.map(({ ip }) => (isProxied ? { ip, ipMode: 'Proxy' as const } : { ip }));
      return { name, createdAtMs, service, ingress };
    },
    members(parts) {
      const pool = parts.find(({ kind }) => kind === kinds.pool);
      return (pool?.body as Part<Pool> | undefined)?.members ?? [];
    },
    /** An operation is what a load balancer goes through, under the id of that. */
    async poll(operations, io) {
      const states = operations.map(async (id): Promise<[string, OperationState]> => {
        const state = (await get(id, io))?.state;
        if (state === 'provisioning' || state === 'deleting') return [id, 'running'];
        if (state !== 'failed') return [id, 'done'];
        const message = `load balancer ${id} has failed`;
        return [id, new CloudError({ kind: 'Invalid', cloud, operation: 'load-balancers.get', message })];
      });
      return new Map(await Promise.all(states));
    },
  };
}
