import { randomUUID } from 'node:crypto';

export type Json = Readonly<Record<string, unknown>>;

/** An object of Octavia, fields as on the wire but for what links them. */
export interface FakeThing {
  readonly id: string;
  status: string;
  fields: Record<string, unknown>;
}

export interface FakeListener extends FakeThing {
  poolId: string | null;
}
export interface FakeMonitor extends FakeThing {}
export interface FakeMember extends FakeThing {}
export interface FakePool extends FakeThing {
  members: FakeMember[];
  monitor: FakeMonitor | undefined;
}

export interface FakeBalancer extends FakeThing {
  readonly listeners: FakeListener[];
  readonly pools: FakePool[];
  /** How many looks at it still show it at work. */
  looksLeft: number;
  /** When it is done, where that goes by time. */
  readyAtMs?: number | undefined;
  /** What it becomes then. */
  becomes: 'ACTIVE' | 'ERROR' | 'DELETED';
}

/** Octavia's own words for a refusal. */
export class OctaviaFault extends Error {
  readonly status: number;

  constructor(status: number, faultstring: string) {
    super(faultstring);
    this.status = status;
  }
}

const projectId = 'p1';
let ticks = 0;

/** Never the same twice, so that versions differ as they do where a second passes between two changes. */
export function timestamp(): string {
  ticks += 1;
  return new Date(Date.UTC(2026, 10, 21) + ticks * 1000).toISOString().slice(0, 19);
}

export function thing(fields: Record<string, unknown>, status = 'PENDING_CREATE'): FakeThing {
  const common = { admin_state_up: true, operating_status: 'OFFLINE', project_id: projectId, tenant_id: projectId };
  return { id: randomUUID(), status, fields: { ...common, ...fields, created_at: timestamp(), updated_at: null } };
}

export function listenerFields(body: Json): Record<string, unknown> {
  return {
    name: '',
    description: '',
    connection_limit: -1,
    default_tls_container_ref: null,
    sni_container_refs: [],
    insert_headers: {},
    timeout_client_data: 50_000,
    timeout_member_connect: 5000,
    timeout_member_data: 50_000,
    timeout_tcp_inspect: 0,
    allowed_cidrs: null,
    ...without(body, 'default_pool', 'default_pool_id', 'loadbalancer_id'),
    tags: tagsOf(body),
  };
}

export function poolFields(body: Json): Record<string, unknown> {
  const persistence = body['session_persistence'];
  return {
    name: '',
    description: '',
    ...without(body, 'members', 'healthmonitor', 'loadbalancer_id', 'listener_id'),
    session_persistence: persistenceOf(persistence),
    tags: tagsOf(body),
  };
}

export function persistenceOf(given: unknown): unknown {
  if (given === null || given === undefined) return null;
  return { cookie_name: null, persistence_timeout: null, persistence_granularity: null, ...(given as Json) };
}

export function monitorFields(body: Json): Record<string, unknown> {
  return {
    name: '',
    max_retries_down: 3,
    http_method: null,
    url_path: null,
    expected_codes: null,
    ...without(body, 'pool_id'),
    tags: tagsOf(body),
  };
}

export function memberFields(body: Json): Record<string, unknown> {
  return {
    name: '',
    weight: 1,
    backup: false,
    subnet_id: null,
    monitor_port: null,
    monitor_address: null,
    ...body,
    tags: tagsOf(body),
  };
}

export function tagsOf(body: Json): string[] {
  return [...((body['tags'] as string[] | undefined) ?? [])].sort();
}

/** For `JSON.parse`: refuses tags that are too long. */
export function checkTag(key: string, value: unknown): unknown {
  if (key === 'tags' && (value as string[]).some((one) => one.length > 255))
    throw new OctaviaFault(
      400,
      `Invalid input for field/attribute tags. Value: '${value}'. Value should have a maximum`,
    );
  return value;
}

function without(body: Json, ...names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

const shown = ({ id, status, fields }: FakeThing) => ({ id, provisioning_status: status, ...fields });

export function balancerJson(one: FakeBalancer): Json {
  return {
    ...shown(one),
    listeners: one.listeners.map(({ id }) => ({ id })),
    pools: one.pools.map(({ id }) => ({ id })),
  };
}

/** As the answer to a create has it: with everything inside, and without some of what links it. */
export function createdJson(one: FakeBalancer): Json {
  return {
    ...shown(one),
    listeners: one.listeners.map((listener) => ({
      ...shown(listener),
      default_pool_id: listener.poolId,
      l7policies: [],
    })),
    pools: one.pools.map((pool) => ({
      ...shown(pool),
      listeners: listenersOf(one, pool),
      members: pool.members.map(shown),
      healthmonitor: null,
    })),
  };
}

export function listenerJson(balancer: FakeBalancer, one: FakeListener): Json {
  return { ...shown(one), default_pool_id: one.poolId, loadbalancers: [{ id: balancer.id }], l7policies: [] };
}

export function poolJson(balancer: FakeBalancer, one: FakePool): Json {
  return {
    ...shown(one),
    loadbalancers: [{ id: balancer.id }],
    listeners: listenersOf(balancer, one),
    members: one.members.map(({ id }) => ({ id })),
    ...(one.monitor ? { healthmonitor_id: one.monitor.id } : {}),
  };
}

export function monitorJson(pool: FakePool, one: FakeMonitor): Json {
  return { ...shown(one), pools: [{ id: pool.id }] };
}

export const memberJson = (one: FakeMember): Json => shown(one);

const statusOf = ({ id, status, fields }: FakeThing) => ({
  id,
  name: fields['name'],
  operating_status: fields['operating_status'],
  provisioning_status: status,
});

/** As `GET .../status` has it: what no listener leads to is left out. */
export function statusJson(one: FakeBalancer): Json {
  return {
    ...statusOf(one),
    listeners: one.listeners.map((listener) => ({
      ...statusOf(listener),
      pools: one.pools
        .filter(({ id }) => id === listener.poolId)
        .map((pool) => ({
          ...statusOf(pool),
          ...(pool.monitor ? { health_monitor: { ...statusOf(pool.monitor), type: pool.monitor.fields['type'] } } : {}),
          members: pool.members.map((member) => ({
            ...statusOf(member),
            address: member.fields['address'],
            protocol_port: member.fields['protocol_port'],
          })),
        })),
    })),
  };
}

function listenersOf({ listeners }: FakeBalancer, { id }: FakePool) {
  return listeners.filter(({ poolId }) => poolId === id).map((one) => ({ id: one.id }));
}
