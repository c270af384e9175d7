import type { Owner } from '../../../engine/resource.ts';
import type { JsonObject } from '../json.ts';
import type { Pool } from './octavia-answer.ts';
import type { ListenerSpec, LoadBalancerSpec, NewMember, NewMonitor, PoolSpec } from './specs.ts';
import { octaviaTags, ownerTagsOf, tag } from './tags.ts';

/** A listener with everything behind it. */
export interface PortSpec {
  readonly listener: ListenerSpec;
  readonly pool: PoolSpec;
}

/** @param vipSubnetId where neither network, subnet nor port is named */
export function loadBalancerBody(
  spec: LoadBalancerSpec,
  ports: readonly PortSpec[],
  { owner, tags, vipSubnetId }: { owner: Owner; tags: readonly string[]; vipSubnetId: string | undefined },
): JsonObject {
  const { name, description, provider, flavorId, availabilityZone, vipAddress, vipPortId, placement } = spec;
  const { networkId, subnetId = vipSubnetId } = placement;
  return {
    name,
    description,
    provider,
    tags,
    flavor_id: flavorId,
    availability_zone: availabilityZone,
    ...(vipPortId === undefined ? { vip_network_id: networkId, vip_subnet_id: subnetId } : { vip_port_id: vipPortId }),
    vip_address: vipAddress,
    ...(ports.length > 0 && {
      listeners: ports.map(({ listener, pool: { members, monitor, ...pool } }) => ({
        ...listenerBody(listener),
        default_pool: {
          ...poolBody({ ...pool, members, monitor }),
          members: members.map((one) => memberBody(one, vipSubnetId)),
          ...(isMonitor(monitor) && { healthmonitor: monitorBody(monitor, owner) }),
        },
      })),
    }),
  };
}

export function isMonitor(monitor: PoolSpec['monitor']): monitor is NewMonitor {
  return monitor !== undefined && monitor !== 'none';
}

export function poolBody({ name, protocol, algorithm, usualAlgorithm, persistence, tags }: PoolSpec): JsonObject {
  const persisting = persistence && { session_persistence: persistenceBody(persistence) };
  return { name, protocol, lb_algorithm: algorithm ?? usualAlgorithm, tags, ...persisting };
}

export function persistenceBody({ type, timeout }: NonNullable<Pool['persistence']>): JsonObject {
  return { type, persistence_timeout: timeout };
}

/** @param vipSubnetId that of the VIP, where the members' is not named */
export function memberBody(member: NewMember, vipSubnetId: string | undefined): JsonObject {
  const { name, address, port, weight, monitorPort, subnetId = vipSubnetId, providerID } = member;
  const tags = [tag(octaviaTags.providerId, providerID)];
  return { name, address, protocol_port: port, weight, monitor_port: monitorPort, subnet_id: subnetId, tags };
}

export function monitorBody({ name, type, path, ...times }: NewMonitor, owner: Owner): JsonObject {
  return { name, type, ...timesBody({ ...times, path, type }), ...methodOf(type), tags: ownerTagsOf(owner) };
}

/** What of a monitor can be changed. */
export function timesBody(monitor: Omit<NewMonitor, 'name'>): JsonObject {
  const { type, delay, timeout, maxRetries, maxRetriesDown, path } = monitor;
  const http = type === 'HTTP' ? { url_path: path ?? '/', expected_codes: '200' } : {};
  return { delay, timeout, max_retries: maxRetries, max_retries_down: maxRetriesDown, ...http };
}

function methodOf(type: string): JsonObject {
  return type === 'HTTP' ? { http_method: 'GET' } : {};
}

export function listenerBody({ name, protocol, port, allowedCidrs = [], forwardedFor, ...fields }: ListenerSpec) {
  const given = {
    ...fields,
    forwardedFor: forwardedFor || undefined,
    allowedCidrs: allowedCidrs.length > 0 ? allowedCidrs : undefined,
  };
  return { name, protocol, protocol_port: port, ...listenerFields(given), tags: fields.tags };
}

/** Those that are undefined are left out of JSON. */
export function listenerFields(fields: Partial<Omit<ListenerSpec, 'pool'>>): JsonObject {
  const { connectionLimit, tlsRef, forwardedFor, timeouts, allowedCidrs } = fields;
  return {
    connection_limit: connectionLimit,
    default_tls_container_ref: tlsRef,
    insert_headers: forwardedFor === undefined ? undefined : { 'X-Forwarded-For': String(forwardedFor) },
    allowed_cidrs: allowedCidrs,
    ...(timeouts && {
      timeout_client_data: timeouts.clientData,
      timeout_member_connect: timeouts.memberConnect,
      timeout_member_data: timeouts.memberData,
      timeout_tcp_inspect: timeouts.tcpInspect,
    }),
  };
}
