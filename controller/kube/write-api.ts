import type { KubeApi, KubeCall } from './api.ts';
import { fencedApi, isMutating, withholdingApi } from './fence.ts';
import type { Leadership } from './leadership.ts';

/** A write may take a third of the lease duration, so that a late renewal does not stop all writes. */
export function writeTimeoutMs(leaseDurationMs: number): number {
  return Math.min(10_000, Math.floor(leaseDurationMs / 3));
}

export interface LeaderApi extends KubeApi {
  /**
   * Resolves when no write is in progress. The lease is released only afterwards, because a later write would come from
   * a replica that does not lead.
   */
  settled(): Promise<void>;
}

/** Passes reads through, and sends writes only while leading, each with a deadline shorter than the lease. */
export function leaderApi(api: KubeApi, leadership: Leadership, timeoutMs: number): LeaderApi {
  const fenced = fencedApi(api, leadership);
  const writes = new Set<Promise<unknown>>();
  return {
    watch: (call) => fenced.watch(call),
    async call<T>(call: KubeCall) {
      if (!isMutating(call)) return fenced.call<T>(call);
      const write = fenced.call<T>({ ...call, timeoutMs: Math.min(call.timeoutMs ?? timeoutMs, timeoutMs) });
      writes.add(write);
      try {
        return await write;
      } finally {
        writes.delete(write);
      }
    },
    async settled() {
      while (writes.size > 0) await Promise.allSettled(writes);
    },
  };
}

/** The API of the loops: it writes only while leading, and not while everything is paused. */
export function loopApi(leading: KubeApi, paused: () => boolean): KubeApi {
  return withholdingApi(leading, { allowed: () => (paused() ? 'everything is paused' : true) });
}
