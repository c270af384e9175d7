import { LRUCache } from 'lru-cache';
import type { EventTarget, KubeEvent } from './event-sink.ts';

/** What the API server is to know about one event: itself, how often it happened, and since when. */
export interface EventRecord {
  readonly target: EventTarget;
  readonly type: KubeEvent['type'];
  readonly reason: string;
  message: string;
  count: number;
  readonly firstMs: number;
  lastMs: number;
  /** Of the Event object, once it was made. */
  name: string | undefined;
}

// Upstream's limits (client-go, tools/record/events_cache.go).
const records = 4096;
const burst = 25;
const refillMs = 300_000;
const similarMax = 10;
const similarWindowMs = 600_000;

/**
 * Thins out events as client-go does: one that repeats is counted on its record; more than ten in ten minutes that differ in their message alone become one
 * record; about one object there may be 25 at once and one more every five minutes. Answers the record to write, undefined for one too many.
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
    // Enough to know that they are many; which ones does not matter any more.
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
