import { CloudError } from '../../../../common/cloud-error.ts';
import type { Clock } from '../../../../common/process/clock.ts';
import type { Found, OperationState, ReadIo } from '../../../engine/resource.ts';
import type { LoadBalancerDriver } from '../../load-balancer-driver.ts';
import { type Ingress, type ObservedMember, ownerTags } from '../../load-balancers.ts';
import type { OpenStackClient } from '../client.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { floatingAddressAt, showFloatingIp } from '../network/floating-ip.ts';
import { createNetworkResources, networkSlots } from '../network/network-resources.ts';
import { adoptedKey } from './adoption.ts';
import { annotationDefinitions, annotationPrefixes } from './annotations.ts';
import { desireOf } from './desire.ts';
import { createListenerKind } from './listener-kind.ts';
import { createLoadBalancerKinds } from './load-balancer-kind.ts';
import { classicName } from './names.ts';
import { nodeLabels } from './node-labels.ts';
import type { Listener, LoadBalancer, Pool } from './octavia-answer.ts';
import { createOctaviaCalls, type OctaviaCalls } from './octavia-calls.ts';
import { createOctaviaReader } from './octavia-reader.ts';
import { createPoolKind } from './pool-kind.ts';
import { octaviaKinds } from './resources.ts';
import { octaviaTags, tagValue } from './tags.ts';

export interface LoadBalancerParts {
  readonly client: OpenStackClient;
  readonly config: LoadBalancerConfig;
  readonly clock: Clock;
  /** The server's uuid, when this scope could hold it. */
  readonly serverIdOf: (providerID: string) => string | undefined;
  /** As this cloud writes it. */
  readonly providerIDOf: (serverId: string) => string;
}

/** The load balancers of one project: Octavia, with floating IPs and security groups of Neutron. Makes no call. */
export function createLoadBalancerDriver(parts: LoadBalancerParts): LoadBalancerDriver {
  const { client, config, clock, serverIdOf, providerIDOf } = parts;
  const calls = createOctaviaCalls(client);
  const vipPorts = async (io: ReadIo) => (await calls.list('loadbalancers', [], io)).map(({ vipPortId }) => vipPortId);
  const network = createNetworkResources({ client, config, clock, vipPorts });
  const { serversOf, subnetOf, facts } = network;
  const reader = createOctaviaReader({ client, calls, clock, serversOf, providerIDOf });
  const members = memberLists();
  return {
    annotations: annotationDefinitions,
    annotationPrefixes,
    nodeLabels: nodeLabels(config),
    maxMembers: undefined,
    drains: config.provider !== 'ovn',
    main: octaviaKinds.loadBalancer,
    kinds: [
      ...createLoadBalancerKinds({ calls, config, subnetOf, sent: reader.sent }),
      createListenerKind(calls, config),
      createPoolKind(calls, config, reader.sent),
      ...network.kinds,
    ] as LoadBalancerDriver['kinds'],
    readers: [network.join(reader)],
    desire: (input) => desireOf(input, { config, minor: reader.minor, facts, serverIdOf }),
    adopts: (found, input) => adoptedKey(found, input, config),
    slots(ref) {
      const { adopt, name, service } = ref;
      const classic = adopt && [name, classicName({ service, clusterName: adopt.clusterName })];
      return [...(classic ?? []).map((one) => `name ${one}`), ...networkSlots(ref)];
    },
    show(main, parts, found) {
      if (main.kind !== octaviaKinds.loadBalancer) return showFloatingIp(main);
      const { name, tags, createdAtMs } = main.body as LoadBalancer;
      const service = tagValue(tags, ownerTags.serviceName) ?? tagValue(tags, ownerTags.retained);
      const isOwn = parts.includes(main);
      const floating = floatingAddressAt((main.body as LoadBalancer).vipPortId, found('floating IP'));
      return {
        name,
        createdAtMs,
        ingress: ingressOf(main, parts, floating, config),
        service: isOwn ? service : undefined,
      };
    },
    members,
    poll: (operations, io) => pollAll(calls, operations, io),
  };
}

/** The floating IP; without one the VIP, where it is certain that there will be none. */
function ingressOf(
  { id, owner, status: known, body }: Found,
  found: readonly Found[],
  floating: string | undefined,
  { ingressHostnameSuffix }: LoadBalancerConfig,
): Ingress[] {
  const { status, tags, vipAddress } = body as LoadBalancer;
  const isOwn = found.some((one) => one.kind === octaviaKinds.loadBalancer && one.id === id);
  const isVip = !isOwn || owner === undefined || tagValue(tags, octaviaTags.address) === 'vip';
  const ip = floating ?? (isVip && vipAddress !== '' ? vipAddress : undefined);
  const bodies = <B>(kind: string) =>
    found.flatMap((one) => (one.kind === kind && one.within === id ? [one.body as B] : []));
  const listeners = bodies<Listener>(octaviaKinds.listener);
  const isNew = known === 'pending' && status === 'PENDING_CREATE';
  if (ip === undefined || isNew || (!isOwn && listeners.length === 0)) return [];
  const hostname = isOwn ? tagValue(tags, octaviaTags.hostname) : undefined;
  if (hostname !== undefined) return [{ hostname }];
  const isProxied = bodies<Pool>(octaviaKinds.pool).some(({ protocol }) => protocol.startsWith('PROXY'));
  if (isProxied && ingressHostnameSuffix !== undefined) return [{ hostname: `${ip}.${ingressHostnameSuffix}` }];
  const ends = isProxied || listeners.some(({ protocol }) => protocol === 'TERMINATED_HTTPS');
  return [ends ? { ip, ipMode: 'Proxy' } : { ip }];
}

/** Every port has a pool of its own; a Node is a member in each. Equal lists are one array. */
function memberLists(): (found: readonly Found[]) => readonly ObservedMember[] {
  const lists = new Map<string, WeakRef<readonly ObservedMember[]>>();
  return (found) => {
    const members = new Map<string, ObservedMember>();
    for (const one of found) {
      if (one.kind !== octaviaKinds.pool) continue;
      for (const { providerID, weight, healthy } of (one.body as Pool).members ?? []) {
        if (providerID === undefined) continue;
        const known = members.get(providerID);
        const draining = weight === 0 && (known?.draining ?? true);
        const worse = known?.healthy === false || healthy === false ? false : (known?.healthy ?? healthy);
        members.set(providerID, { providerID, draining, healthy: known === undefined ? healthy : worse });
      }
    }
    const list = [...members.values()];
    const key = list.map(({ providerID, draining, healthy }) => `${providerID} ${draining} ${healthy}`).join('\n');
    const same = lists.get(key)?.deref();
    if (same !== undefined) return same;
    lists.set(key, new WeakRef(list));
    if (lists.size > 10_000) for (const [one, held] of lists) if (held.deref() === undefined) lists.delete(one);
    return list;
  };
}

/** An operation is what a load balancer goes through. */
async function pollAll(
  calls: OctaviaCalls,
  operations: readonly string[],
  io: ReadIo,
): Promise<ReadonlyMap<string, OperationState>> {
  const ids = [...new Set(operations.map((one) => one.slice(one.indexOf(' ') + 1)))];
  const seen =
    ids.length > 2
      ? await calls.list('loadbalancers', [], io)
      : await Promise.all(ids.map((id) => calls.get('loadbalancers', id, io)));
  const statuses = new Map(seen.flatMap((one) => (one === undefined ? [] : [[one.id, one.status]])));
  return new Map(
    operations.map((operation) => {
      const id = operation.slice(operation.indexOf(' ') + 1);
      return [operation, stateOf(operation.startsWith('delete '), id, statuses.get(id))];
    }),
  );
}

function stateOf(isDelete: boolean, id: string, status: string | undefined): OperationState {
  const isGone = status === undefined || status === 'DELETED';
  if (isDelete && isGone) return 'done';
  if (status?.startsWith('PENDING')) return 'running';
  if (!isDelete && status === 'ACTIVE') return 'done';
  const message = isGone ? `load balancer ${id} is gone` : `load balancer ${id} came to ${status}`;
  return new CloudError({ kind: 'Stale', cloud: 'openstack', operation: 'GET /lbaas/loadbalancers/{id}', message });
}
