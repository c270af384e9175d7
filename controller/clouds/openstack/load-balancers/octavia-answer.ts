import type { AnswerFields } from '../../answer-fields.ts';
import { optionalTexts, textsIn } from '../json.ts';
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

export function readLoadBalancer(item: AnswerFields): LoadBalancer {
  const created = Date.parse(`${item.optionalText('created_at')}Z`);
  return {
    ...shared(item),
    vipAddress: item.optionalText('vip_address') ?? '',
    vipPortId: item.optionalText('vip_port_id') ?? '',
    vipSubnetId: item.optionalText('vip_subnet_id') ?? '',
    provider: item.optionalText('provider') ?? '',
    createdAtMs: Number.isNaN(created) ? undefined : created,
    listenerIds: textsIn(item, 'listeners', 'id'),
    poolIds: textsIn(item, 'pools', 'id'),
  };
}

export function readListener(item: AnswerFields): Listener {
  const cidrs = optionalTexts(item, 'allowed_cidrs');
  return {
    ...shared(item),
    loadBalancerId: textsIn(item, 'loadbalancers', 'id')[0] ?? '',
    protocol: item.text('protocol'),
    port: item.number('protocol_port'),
    connectionLimit: item.optionalNumber('connection_limit') ?? -1,
    tlsRef: item.optionalText('default_tls_container_ref'),
    poolId: item.optionalText('default_pool_id'),
    forwardedFor: String(item.optionalObject('insert_headers')?.json()['X-Forwarded-For']) === 'true',
    timeouts: {
      clientData: item.optionalNumber('timeout_client_data') ?? 0,
      memberConnect: item.optionalNumber('timeout_member_connect') ?? 0,
      memberData: item.optionalNumber('timeout_member_data') ?? 0,
      tcpInspect: item.optionalNumber('timeout_tcp_inspect') ?? 0,
    },
    allowedCidrs: cidrs.some(isEverybody) ? [] : cidrs,
  };
}

export function isEverybody(cidr: string): boolean {
  return cidr === '0.0.0.0/0' || cidr === '::/0';
}

export function readPool(item: AnswerFields): Pool {
  const persistence = item.optionalObject('session_persistence');
  const type = persistence?.optionalText('type');
  const timeout = persistence?.optionalNumber('persistence_timeout');
  return {
    ...shared(item),
    loadBalancerId: textsIn(item, 'loadbalancers', 'id')[0] ?? '',
    protocol: item.text('protocol'),
    algorithm: item.optionalText('lb_algorithm') ?? '',
    persistence: type === undefined ? undefined : { type, timeout },
    monitorId: item.optionalText('healthmonitor_id'),
    monitor: undefined,
    memberIds: textsIn(item, 'members', 'id'),
    members: undefined,
    version: item.optionalText('updated_at') ?? item.optionalText('created_at') ?? '',
  };
}

export function readMonitor(item: AnswerFields): Monitor {
  const { id, status, tags } = shared(item);
  return {
    id,
    status,
    tags,
    type: item.text('type'),
    path: item.optionalText('url_path'),
    delay: item.number('delay'),
    timeout: item.number('timeout'),
    maxRetries: item.number('max_retries'),
    maxRetriesDown: item.optionalNumber('max_retries_down') ?? 3,
  };
}

/** By Octavia's `operating_status`; others say nothing. */
const healthOf: Readonly<Record<string, boolean>> = { ONLINE: true, ERROR: false };

export function readMember(item: AnswerFields): Member {
  const { id, status, tags } = shared(item);
  return {
    id,
    status,
    address: item.text('address'),
    port: item.number('protocol_port'),
    weight: item.optionalNumber('weight') ?? 1,
    monitorPort: item.optionalNumber('monitor_port'),
    healthy: healthOf[item.optionalText('operating_status') ?? ''],
    providerID: tagValue(tags, octaviaTags.providerId),
  };
}

function shared(item: AnswerFields) {
  return {
    id: item.text('id'),
    name: item.optionalText('name') ?? '',
    status: item.optionalText('provisioning_status') ?? '',
    tags: optionalTexts(item, 'tags'),
  };
}
