import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { Clock } from '../../../../common/process/clock.ts';
import type { OpenStackClient } from '../client.ts';
import { faultOf, isThingNotFound } from '../fault.ts';
import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../json.ts';
import { healthOf, type LoadBalancer, type Member, type Pool, type Status } from './answer.ts';

/** What Octavia tells in one answer of a load balancer and everything that its listeners lead to: how far each is, and which members there are. */
export interface StatusTree {
  readonly status: Status;
  readonly listeners: readonly (Leaf & { readonly pools: readonly TreePool[] })[];
}

interface Leaf {
  readonly id: string;
  readonly status: Status;
}

interface TreePool extends Leaf {
  readonly monitor: (Leaf & { readonly type: string }) | undefined;
  readonly members: readonly (Leaf & Pick<Member, 'address' | 'port' | 'healthy'>)[];
}

/** How what is there compares with what is known from our own steps. */
export type Comparison =
  /** With the ids that it did not know. */
  | { readonly is: 'as known'; readonly loadBalancer: LoadBalancer }
  | { readonly is: 'at work' }
  /** More has to be read to say what it is. */
  | { readonly is: 'different' };

/** A policy, or a service that only looks like Octavia. */
const refusals: ReadonlySet<number> = new Set([400, 403, 404, 405, 501]);
/** A proxy may have said it once. */
const refusedMs = 3_600_000;
const failedMs = 60_000;

export type CompareNow = (known: LoadBalancer, signal?: AbortSignal) => Promise<Comparison>;

/** One read. Where it fails, and for a while after that, all is different: whatever Octavia does not tell here, it may tell elsewhere. Throws a CloudError where it may not. */
export function comparison(client: OpenStackClient, clock: Clock): CompareNow {
  let untilMs: number | undefined;
  return async function compareNow(known, signal) {
    if (untilMs !== undefined && clock.monotonic() < untilMs) return { is: 'different' };
    const operation = 'GET /lbaas/loadbalancers/{id}/status';
    const path = `/lbaas/loadbalancers/${known.id}/status`;
    try {
      const json = await client.get({ service: 'load-balancer', path, operation, signal });
      return compare(known, readStatusTree(json, operation));
    } catch (error) {
      if (isThingNotFound(error)) return { is: 'different' };
      if (!isCloudError(error) || error.kind === 'Unauthorized' || error.kind === 'Throttled') throw error;
      untilMs = clock.monotonic() + (refusals.has(faultOf(error)?.status ?? 0) ? refusedMs : failedMs);
      return { is: 'different' };
    }
  };
}

export function readStatusTree(json: unknown, operation: string): StatusTree {
  const item = objectOf(objectOf(objectOf(json)?.['statuses'])?.['loadbalancer']);
  if (item === undefined) {
    const message = 'the answer has no usable statuses';
    throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
  }
  return {
    status: textOf(item['provisioning_status']) ?? '',
    listeners: objectsOf(item['listeners']).map((listener) => ({
      ...leafOf(listener),
      pools: objectsOf(listener['pools']).map(poolOf),
    })),
  };
}

function poolOf(item: JsonObject): TreePool {
  const monitor = objectOf(item['health_monitor']);
  return {
    ...leafOf(item),
    monitor: monitor && { ...leafOf(monitor), type: textOf(monitor['type']) ?? '' },
    members: objectsOf(item['members']).map((member) => ({
      ...leafOf(member),
      address: textOf(member['address']) ?? '',
      port: numberOf(member['protocol_port']) ?? 0,
      healthy: healthOf[String(member['operating_status'])],
    })),
  };
}

function leafOf(item: JsonObject): Leaf {
  return { id: textOf(item['id']) ?? '', status: textOf(item['provisioning_status']) ?? '' };
}

/** Pools whose members are known have to agree in full; of the others, which there are. */
export function compare(known: LoadBalancer, tree: StatusTree): Comparison {
  const leaves = tree.listeners.flatMap((listener) => [
    listener,
    ...listener.pools.flatMap((pool) => [pool, ...pool.members, ...(pool.monitor ? [pool.monitor] : [])]),
  ]);
  if ([tree, ...leaves].some(({ status }) => status.startsWith('PENDING'))) return { is: 'at work' };
  if (tree.status !== 'ACTIVE' || !sameIds(known.listeners, tree.listeners)) return { is: 'different' };
  const pools = new Map(tree.listeners.flatMap((listener) => listener.pools).map((one) => [one.id, one]));
  if ([...pools.keys()].some((id) => !known.pools.some((pool) => pool.id === id))) return { is: 'different' };
  const listeners = [];
  for (const one of known.listeners) {
    const there = tree.listeners.find(({ id }) => id === one.id)!;
    const leads = one.poolId === undefined || there.pools.some(({ id }) => id === one.poolId);
    if (!leads || !isSound(one, there)) return { is: 'different' };
    listeners.push({ ...one, status: there.status });
  }
  const compared: Pool[] = [];
  for (const one of known.pools) {
    const pool = one.members === undefined ? one : asKnown(one, pools.get(one.id));
    if (pool === undefined) return { is: 'different' };
    compared.push(pool);
  }
  return { is: 'as known', loadBalancer: { ...known, status: tree.status, listeners, pools: compared } };
}

/** Undefined when it is not. */
function asKnown(known: Pool, there: TreePool | undefined): Pool | undefined {
  const { monitor, members = [] } = known;
  if (there === undefined || !isSound(known, there) || there.members.length !== members.length) return undefined;
  if (monitor?.type !== there.monitor?.type || (monitor && !isSound(monitor, there.monitor))) return undefined;
  const byKey = new Map(there.members.map((one) => [`${one.address} ${one.port}`, one]));
  const compared: Member[] = [];
  for (const one of members) {
    const member = byKey.get(`${one.address} ${one.port}`);
    if (member === undefined || !isSound(one, member)) return undefined;
    compared.push({ ...one, id: member.id, status: member.status, healthy: member.healthy });
  }
  return {
    ...known,
    status: there.status,
    members: compared,
    memberIds: compared.map(({ id }) => id),
    monitorId: there.monitor?.id,
    monitor: monitor && there.monitor && { ...monitor, id: there.monitor.id, status: there.monitor.status },
  };
}

/** It works, or is in the state that is known already. */
function isSound(known: { readonly status: Status }, there: Leaf | undefined): boolean {
  return there?.status === 'ACTIVE' || there?.status === known.status;
}

function sameIds(a: readonly { readonly id: string }[], b: readonly { readonly id: string }[]): boolean {
  return a.length === b.length && a.every(({ id }) => b.some((one) => one.id === id));
}
