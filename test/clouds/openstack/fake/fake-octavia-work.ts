import { type FakeBalancer, OctaviaFault, timestamp } from './fake-octavia-model.ts';
import type { FakeOpenStack } from './openstack-state.ts';

export interface FakeTimes {
  nowMs(): number;
  readonly createMs: number;
  readonly updateMs: number;
  readonly deleteMs: number;
}

/** What decides how long Octavia is at work on something, and what comes of it. */
interface Worker {
  readonly balancers: Map<string, FakeBalancer>;
  readonly looks: number;
  readonly takes: FakeTimes | undefined;
}

/** A read of the load balancer: its work may come to an end. */
export function look(fake: FakeOpenStack, octavia: Worker, one: FakeBalancer): void {
  if (!one.status.startsWith('PENDING')) return;
  const { takes } = octavia;
  if (takes && one.readyAtMs === undefined) one.readyAtMs = readyAtMs(takes, one);
  if (takes && takes.nowMs() < (one.readyAtMs ?? 0)) return;
  if (!takes && one.looksLeft > 0) {
    one.looksLeft -= 1;
    return;
  }
  one.readyAtMs = undefined;
  if (one.becomes === 'DELETED') {
    octavia.balancers.delete(one.id);
    const port = String(one.fields['vip_port_id']);
    const at = fake.ports.findIndex(({ id, deviceOwner }) => id === port && deviceOwner === 'Octavia');
    if (at >= 0) fake.ports.splice(at, 1);
    return;
  }
  const pieces = [
    ...one.listeners,
    ...one.pools.flatMap((pool) => [pool, ...pool.members, ...(pool.monitor ? [pool.monitor] : [])]),
  ];
  for (const piece of [...pieces, one]) {
    if (!piece.status.startsWith('PENDING')) continue;
    piece.status = piece === one || one.becomes === 'ERROR' ? one.becomes : 'ACTIVE';
    piece.fields['updated_at'] = timestamp();
  }
}

/** When work that begins now is done. */
export function readyAtMs({ nowMs, createMs, updateMs, deleteMs }: FakeTimes, { status }: FakeBalancer): number {
  return nowMs() + (status === 'PENDING_CREATE' ? createMs : status === 'PENDING_DELETE' ? deleteMs : updateMs);
}

/** Octavia begins to work on it. */
export function work(octavia: Worker, balancer: FakeBalancer, status: string): void {
  balancer.status = status;
  balancer.looksLeft = octavia.looks;
  balancer.readyAtMs = octavia.takes && readyAtMs(octavia.takes, balancer);
  balancer.becomes = 'ACTIVE';
  balancer.fields['updated_at'] = timestamp();
}

/** Refuses while it is at work or broken. */
export function mutable({ id, status }: FakeBalancer): void {
  if (status !== 'ACTIVE') throw new OctaviaFault(409, `Invalid state ${status} of loadbalancer resource ${id}`);
}
