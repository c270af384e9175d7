import { LRUCache } from 'lru-cache';
import type { EventTarget, KubeEvent } from './event-sink.ts';

/** One event with its count and its first and last time. */
export interface EventRecord {
  readonly target: EventTarget;
  readonly type: KubeEvent['type'];
  readonly reason: string;
  message: string;
  count: number;
  readonly firstMs: number;
  lastMs: number;
  /** Name of the Event object, once it was created. */
  name: string | undefined;
}

// Upstream's limits (client-go, tools/record/events_cache.go).
const records = 4096;
const burst = 25;
const refillMs = 300_000;
const similarMax = 10;
const similarWindowMs = 600_000;

/**
 * Aggregates events as client-go does. A repeated event increments the count of its record. More than ten events in ten
 * minutes that differ only in their message become one record. Each object may have 25 events at once and one more
 * every five minutes. Returns the record to write; undefined above the limit.
 */
export function createEventCorrelator(): (
  target: EventTarget,
  event: KubeEvent,
  nowMs: number,
) => EventRecord | undefined {
  const recordsByKey = new LRUCache<string, EventRecord>({ max: records });
  const similar = new LRUCache<string, { messages: Set<string>; lastMs: number }>({ max: records });
  const buckets = new LRUCache<string, { tokens: number; atMs: number }>({ max: records });

  function isOneOfMany(key: string, message: string, nowMs: number): boolean {
    let group = similar.get(key);
    if (!group || nowMs - group.lastMs > similarWindowMs) group = { messages: new Set(), lastMs: nowMs };
    group.lastMs = nowMs;
    group.messages.add(message);
    similar.set(key, group);
    if (group.messages.size < similarMax) return false;
    // Only the number of messages matters from here on, so the oldest can be dropped.
    for (const first of group.messages) {
      group.messages.delete(first);
      break;
    }
    return true;
  }

  function mayPass(key: string, nowMs: number): boolean {
    const bucket = buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    bucket.tokens = Math.min(burst, bucket.tokens + Math.max(0, nowMs - bucket.atMs) / refillMs);
    bucket.atMs = nowMs;
    buckets.set(key, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  return (target, event, nowMs) => {
    const about = `${target.apiVersion}/${target.kind}/${target.namespace ?? ''}/${target.name}/${target.uid}`;
    const group = `${about}/${event.type}/${event.reason}`;
    const combined = isOneOfMany(group, event.message, nowMs);
    const key = combined ? group : `${group}/${event.message}`;
    const message = combined ? `(combined from similar events): ${event.message}` : event.message;
    let record = recordsByKey.get(key);
    if (record) {
      record.count += 1;
      record.lastMs = nowMs;
      record.message = message;
    } else {
      const { type, reason } = event;
      record = { target, type, reason, message, count: 1, firstMs: nowMs, lastMs: nowMs, name: undefined };
      recordsByKey.set(key, record);
    }
    return mayPass(`${about}/${event.type}`, nowMs) ? record : undefined;
  };
}
