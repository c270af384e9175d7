import { CloudError } from '../../../../common/cloud-error.ts';
import { fieldsOf, type JsonObject, listOf, numberOf, objectOf, textOf, textsOf } from '../json.ts';
import { octaviaTags, tagValue } from './tags.ts';

/** Octavia's `provisioning_status`: `ACTIVE`, `PENDING_*`, `ERROR`, `DELETED`. */
export type Status = string;

export interface Member {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly weight: number;
  readonly monitorPort: number | undefined;
  readonly status: Status;
  /** Undefined where nobody checks. */
  readonly healthy: boolean | undefined;
  /** As its tag has it, or as found by its address. */
  readonly providerID: string | undefined;
}

export interface Monitor {
  readonly id: string;
  readonly type: string;
  readonly delay: number;
  readonly timeout: number;
  readonly maxRetries: number;
  readonly maxRetriesDown: number;
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
  /** Type of the session persistence. */
  readonly persistence: string | undefined;
  readonly persistenceTimeout: number | undefined;
  readonly listenerIds: readonly string[];
  readonly monitorId: string | undefined;
  /** Undefined: none, or not read. */
  readonly monitor: Monitor | undefined;
  readonly memberIds: readonly string[];
  /** Undefined: not read, since the pool is none of ours. */
  readonly members: readonly Member[] | undefined;
  readonly tags: readonly string[];
  /** Changes with everything in the pool. */
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
  readonly insertHeaders: Readonly<Record<string, string>>;
  readonly timeouts: Timeouts;
  /** Empty = everybody. */
  readonly allowedCidrs: readonly string[];
  readonly tags: readonly string[];
}

export interface LoadBalancer {
  readonly id: string;
  readonly name: string;
  readonly status: Status;
  /** How long it has been in a PENDING status, as far as this process has seen. */
  readonly pendingMs: number;
  /** How long such work has taken lately; undefined = not known. */
  readonly expectedMs: number | undefined;
  readonly vipAddress: string;
  readonly vipPortId: string;
  readonly vipSubnetId: string;
  readonly provider: string;
  readonly createdAtMs: number | undefined;
  /** When its row was last written, to the second: after everything on it that the same change wrote. */
  readonly updatedAt: string;
  readonly tags: readonly string[];
  /** Of everything on it, as its own answer names them; undefined where it does not. */
  readonly listenerIds: readonly string[] | undefined;
  readonly poolIds: readonly string[] | undefined;
  readonly listeners: readonly Listener[];
  readonly pools: readonly Pool[];
}

export interface FloatingIp {
  readonly id: string;
  readonly address: string;
  readonly networkId: string;
  readonly portId: string | undefined;
  readonly description: string;
  readonly tags: readonly string[];
}

export interface GroupRule {
  readonly id: string;
  readonly direction: string;
  readonly ethertype: string;
  readonly protocol: string | undefined;
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly prefix: string | undefined;
  readonly remoteGroup: boolean;
}

export interface SecurityGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly rules: readonly GroupRule[];
}

/** A port of a server, as far as security groups go. */
export interface NodePort {
  readonly id: string;
  readonly serverId: string;
  readonly addresses: readonly string[];
  readonly groups: readonly string[];
  readonly secured: boolean;
  readonly revision: number | undefined;
}

export function readLoadBalancer(json: unknown, operation: string): LoadBalancer {
  const item = required(json, operation, 'loadbalancer');
  const created = Date.parse(`${String(item['created_at'])}Z`);
  return {
    id: idOf(item, operation),
    name: textOf(item['name']) ?? '',
    status: textOf(item['provisioning_status']) ?? '',
    pendingMs: 0,
    expectedMs: undefined,
    vipAddress: textOf(item['vip_address']) ?? '',
    vipPortId: textOf(item['vip_port_id']) ?? '',
    vipSubnetId: textOf(item['vip_subnet_id']) ?? '',
    provider: textOf(item['provider']) ?? '',
    createdAtMs: Number.isNaN(created) ? undefined : created,
    updatedAt: textOf(item['updated_at']) ?? textOf(item['created_at']) ?? '',
    tags: textsOf(item['tags']),
    listenerIds: item['listeners'] === undefined ? undefined : fieldsOf(item['listeners'], 'id'),
    poolIds: item['pools'] === undefined ? undefined : fieldsOf(item['pools'], 'id'),
    listeners: [],
    pools: [],
  };
}

export function readListener(json: unknown, operation: string): Listener {
  const item = required(json, operation, 'listener');
  const cidrs = textsOf(item['allowed_cidrs']);
  return {
    id: idOf(item, operation),
    name: textOf(item['name']) ?? '',
    loadBalancerId: fieldsOf(item['loadbalancers'], 'id')[0] ?? '',
    status: textOf(item['provisioning_status']) ?? '',
    protocol: textOf(item['protocol']) ?? '',
    port: numberOf(item['protocol_port']) ?? 0,
    connectionLimit: numberOf(item['connection_limit']) ?? -1,
    tlsRef: textOf(item['default_tls_container_ref']),
    poolId: textOf(item['default_pool_id']),
    insertHeaders: headersOf(item['insert_headers']),
    timeouts: {
      clientData: numberOf(item['timeout_client_data']) ?? 0,
      memberConnect: numberOf(item['timeout_member_connect']) ?? 0,
      memberData: numberOf(item['timeout_member_data']) ?? 0,
      tcpInspect: numberOf(item['timeout_tcp_inspect']) ?? 0,
    },
    allowedCidrs: cidrs.some(isEverybody) ? [] : cidrs,
    tags: textsOf(item['tags']),
  };
}

export function isEverybody(cidr: string): boolean {
  return cidr === '0.0.0.0/0' || cidr === '::/0';
}

export function readPool(json: unknown, operation: string): Pool {
  const item = required(json, operation, 'pool');
  const persistence = objectOf(item['session_persistence']);
  return {
    id: idOf(item, operation),
    name: textOf(item['name']) ?? '',
    loadBalancerId: fieldsOf(item['loadbalancers'], 'id')[0] ?? '',
    status: textOf(item['provisioning_status']) ?? '',
    protocol: textOf(item['protocol']) ?? '',
    algorithm: textOf(item['lb_algorithm']) ?? '',
    persistence: textOf(persistence?.['type']),
    persistenceTimeout: numberOf(persistence?.['persistence_timeout']),
    listenerIds: fieldsOf(item['listeners'], 'id'),
    monitorId: textOf(item['healthmonitor_id']),
    monitor: undefined,
    memberIds: fieldsOf(item['members'], 'id'),
    members: undefined,
    tags: textsOf(item['tags']),
    version: textOf(item['updated_at']) ?? textOf(item['created_at']) ?? '',
  };
}

export function readMonitor(json: unknown, operation: string): Monitor & { readonly poolIds: readonly string[] } {
  const item = required(json, operation, 'healthmonitor');
  return {
    id: idOf(item, operation),
    type: textOf(item['type']) ?? '',
    delay: numberOf(item['delay']) ?? 0,
    timeout: numberOf(item['timeout']) ?? 0,
    maxRetries: numberOf(item['max_retries']) ?? 0,
    maxRetriesDown: numberOf(item['max_retries_down']) ?? 3,
    path: textOf(item['url_path']),
    status: textOf(item['provisioning_status']) ?? '',
    tags: textsOf(item['tags']),
    poolIds: fieldsOf(item['pools'], 'id'),
  };
}

/** By Octavia's `operating_status`; others say nothing. */
export const healthOf: Readonly<Record<string, boolean>> = { ONLINE: true, ERROR: false };

export function readMember(json: unknown, operation: string): Member {
  const item = required(json, operation, 'member');
  const tags = textsOf(item['tags']);
  return {
    id: idOf(item, operation),
    name: textOf(item['name']) ?? '',
    address: textOf(item['address']) ?? '',
    port: numberOf(item['protocol_port']) ?? 0,
    weight: numberOf(item['weight']) ?? 1,
    monitorPort: numberOf(item['monitor_port']),
    status: textOf(item['provisioning_status']) ?? '',
    healthy: healthOf[String(item['operating_status'])],
    providerID: tagValue(tags, octaviaTags.providerId),
  };
}

export function readFloatingIp(json: unknown, operation: string): FloatingIp {
  const item = required(json, operation, 'floatingip');
  return {
    id: idOf(item, operation),
    address: textOf(item['floating_ip_address']) ?? '',
    networkId: textOf(item['floating_network_id']) ?? '',
    portId: textOf(item['port_id']),
    description: textOf(item['description']) ?? '',
    tags: textsOf(item['tags']),
  };
}

export function readGroup(json: unknown, operation: string): SecurityGroup {
  const item = required(json, operation, 'security_group');
  return {
    id: idOf(item, operation),
    name: textOf(item['name']) ?? '',
    description: textOf(item['description']) ?? '',
    rules: (listOf(item['security_group_rules']) ?? []).map((rule) => readRule(rule, operation)),
  };
}

export function readRule(json: unknown, operation: string): GroupRule {
  const item = required(json, operation, 'security_group_rule');
  return {
    id: idOf(item, operation),
    direction: textOf(item['direction']) ?? '',
    ethertype: textOf(item['ethertype']) ?? '',
    protocol: textOf(item['protocol']),
    from: numberOf(item['port_range_min']),
    to: numberOf(item['port_range_max']),
    prefix: textOf(item['remote_ip_prefix']),
    remoteGroup: textOf(item['remote_group_id']) !== undefined,
  };
}

export function readNodePort(json: unknown, operation: string): NodePort {
  const item = required(json, operation, 'port');
  return {
    id: idOf(item, operation),
    serverId: textOf(item['device_id']) ?? '',
    addresses: fieldsOf(item['fixed_ips'], 'ip_address'),
    groups: textsOf(item['security_groups']),
    secured: item['port_security_enabled'] !== false,
    revision: numberOf(item['revision_number']),
  };
}

/** The object under its name, or the object itself where a list has it. */
function required(json: unknown, operation: string, name: string): JsonObject {
  const outer = objectOf(json);
  const item = objectOf(outer?.[name]) ?? outer;
  if (item === undefined) throw broken(operation, name);
  return item;
}

function idOf(item: JsonObject, operation: string): string {
  const id = textOf(item['id']);
  if (id === undefined) throw broken(operation, 'id');
  return id;
}

function broken(operation: string, field: string): CloudError {
  return new CloudError({
    kind: 'Invalid',
    cloud: 'openstack',
    operation,
    message: `the answer has no usable ${field}`,
  });
}

function headersOf(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(objectOf(value) ?? {}).map(([key, one]) => [key, String(one)]));
}
