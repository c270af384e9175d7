import { CloudError } from '../../../../common/cloud-error.ts';
import { fieldsOf, type JsonObject, numberOf, objectOf, textOf, textsOf } from '../json.ts';
import { octaviaTags, tagValue } from './tags.ts';

/** Octavia's `provisioning_status`: `ACTIVE`, `PENDING_*`, `ERROR`, `DELETED`. */
export type Status = string;

export interface Member {
  readonly address: string;
  readonly port: number;
  /** Empty where an answer does not tell it. */
  readonly id: string;
  readonly weight: number;
  readonly monitorPort: number | undefined;
  readonly status: Status;
  /** Undefined where nothing checks it. */
  readonly healthy: boolean | undefined;
  /** As its tag has it, or as found by its address. */
  readonly providerID: string | undefined;
}

export interface MonitorTimes {
  readonly delay: number;
  readonly timeout: number;
  readonly maxRetries: number;
  readonly maxRetriesDown: number;
}

export interface Monitor extends MonitorTimes {
  readonly id: string;
  readonly type: string;
  readonly path: string | undefined;
  readonly status: Status;
  readonly tags: readonly string[];
}

export interface Pool {
  readonly id: string;
  readonly name: string;
  readonly loadBalancerId: string;
  readonly status: Status;
  readonly protocol: string;
  readonly algorithm: string;
  /** Type and seconds of the session persistence. */
  readonly persistence: { readonly type: string; readonly timeout: number | undefined } | undefined;
  readonly listenerIds: readonly string[];
  readonly monitorId: string | undefined;
  readonly monitor: Monitor | undefined;
  readonly memberIds: readonly string[];
  /** Undefined: not read, since the pool is none of ours. */
  readonly members: readonly Member[] | undefined;
  readonly tags: readonly string[];
  /** Changes with everything in the pool, but for what health checks say. */
  readonly version: string;
}

export interface Timeouts {
  readonly clientData: number;
  readonly memberConnect: number;
  readonly memberData: number;
  readonly tcpInspect: number;
}

export interface Listener {
  readonly id: string;
  readonly name: string;
  readonly loadBalancerId: string;
  readonly status: Status;
  readonly protocol: string;
  readonly port: number;
  readonly connectionLimit: number;
  readonly tlsRef: string | undefined;
  readonly poolId: string | undefined;
  readonly forwardedFor: boolean;
  readonly timeouts: Timeouts;
  /** Empty = everybody. */
  readonly allowedCidrs: readonly string[];
  readonly tags: readonly string[];
}

export interface LoadBalancer {
  readonly id: string;
  readonly name: string;
  readonly status: Status;
  readonly vipAddress: string;
  readonly vipPortId: string;
  readonly vipSubnetId: string;
  readonly provider: string;
  readonly createdAtMs: number | undefined;
  readonly tags: readonly string[];
  readonly listenerIds: readonly string[];
  readonly poolIds: readonly string[];
}

export function readLoadBalancer(json: unknown, operation: string): LoadBalancer {
  const item = required(json, operation, 'loadbalancer');
  const created = Date.parse(`${String(item['created_at'])}Z`);
  return {
    ...shared(item, operation),
    vipAddress: textOf(item['vip_address']) ?? '',
    vipPortId: textOf(item['vip_port_id']) ?? '',
    vipSubnetId: textOf(item['vip_subnet_id']) ?? '',
    provider: textOf(item['provider']) ?? '',
    createdAtMs: Number.isNaN(created) ? undefined : created,
    listenerIds: fieldsOf(item['listeners'], 'id'),
    poolIds: fieldsOf(item['pools'], 'id'),
  };
}

export function readListener(json: unknown, operation: string): Listener {
  const item = required(json, operation, 'listener');
  const cidrs = textsOf(item['allowed_cidrs']);
  return {
    ...shared(item, operation),
    loadBalancerId: fieldsOf(item['loadbalancers'], 'id')[0] ?? '',
    protocol: textOf(item['protocol']) ?? '',
    port: numberOf(item['protocol_port']) ?? 0,
    connectionLimit: numberOf(item['connection_limit']) ?? -1,
    tlsRef: textOf(item['default_tls_container_ref']),
    poolId: textOf(item['default_pool_id']),
    forwardedFor: String(objectOf(item['insert_headers'])?.['X-Forwarded-For']) === 'true',
    timeouts: {
      clientData: numberOf(item['timeout_client_data']) ?? 0,
      memberConnect: numberOf(item['timeout_member_connect']) ?? 0,
      memberData: numberOf(item['timeout_member_data']) ?? 0,
      tcpInspect: numberOf(item['timeout_tcp_inspect']) ?? 0,
    },
    allowedCidrs: cidrs.some(isEverybody) ? [] : cidrs,
  };
}

export function isEverybody(cidr: string): boolean {
  return cidr === '0.0.0.0/0' || cidr === '::/0';
}

export function readPool(json: unknown, operation: string): Pool {
  const item = required(json, operation, 'pool');
  const persistence = objectOf(item['session_persistence']);
  const type = textOf(persistence?.['type']);
  return {
    ...shared(item, operation),
    loadBalancerId: fieldsOf(item['loadbalancers'], 'id')[0] ?? '',
    protocol: textOf(item['protocol']) ?? '',
    algorithm: textOf(item['lb_algorithm']) ?? '',
    persistence: type === undefined ? undefined : { type, timeout: numberOf(persistence?.['persistence_timeout']) },
    listenerIds: fieldsOf(item['listeners'], 'id'),
    monitorId: textOf(item['healthmonitor_id']),
    monitor: undefined,
    memberIds: fieldsOf(item['members'], 'id'),
    members: undefined,
    version: textOf(item['updated_at']) ?? textOf(item['created_at']) ?? '',
  };
}

export function readMonitor(json: unknown, operation: string): Monitor {
  const item = required(json, operation, 'healthmonitor');
  const { id, status, tags } = shared(item, operation);
  return {
    id,
    status,
    tags,
    type: textOf(item['type']) ?? '',
    path: textOf(item['url_path']),
    delay: numberOf(item['delay']) ?? 0,
    timeout: numberOf(item['timeout']) ?? 0,
    maxRetries: numberOf(item['max_retries']) ?? 0,
    maxRetriesDown: numberOf(item['max_retries_down']) ?? 3,
  };
}

/** By Octavia's `operating_status`; others say nothing. */
const healthOf: Readonly<Record<string, boolean>> = { ONLINE: true, ERROR: false };

export function readMember(json: unknown, operation: string): Member {
  const item = required(json, operation, 'member');
  const { id, status, tags } = shared(item, operation);
  return {
    id,
    status,
    address: textOf(item['address']) ?? '',
    port: numberOf(item['protocol_port']) ?? 0,
    weight: numberOf(item['weight']) ?? 1,
    monitorPort: numberOf(item['monitor_port']),
    healthy: healthOf[String(item['operating_status'])],
    providerID: tagValue(tags, octaviaTags.providerId),
  };
}

function shared(item: JsonObject, operation: string) {
  const id = textOf(item['id']);
  if (id === undefined) throw broken(operation, 'id');
  const status = textOf(item['provisioning_status']) ?? '';
  return { id, name: textOf(item['name']) ?? '', status, tags: textsOf(item['tags']) };
}

/** The object under its name, or the object itself where a list has it. */
function required(json: unknown, operation: string, name: string): JsonObject {
  const outer = objectOf(json);
  const item = objectOf(outer?.[name]) ?? outer;
  if (item === undefined) throw broken(operation, name);
  return item;
}

function broken(operation: string, field: string): CloudError {
  const message = `the answer has no usable ${field}`;
  return new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
}
