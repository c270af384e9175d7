import type { Log } from '../../common/process/log.ts';
import type { KubeApi, KubeCall } from './api.ts';
import { dryRunApi } from './dry-run-api.ts';
import { fencedApi, isMutating, withholdingApi } from './fence.ts';
import type { Leadership } from './leadership.ts';

/** A write may take a third of the lease, so that a renewal that comes late does not stop all writing. */
export function writeTimeoutMs(leaseDurationMs: number): number {
  return Math.min(10_000, Math.floor(leaseDurationMs / 3));
}

export interface LeaderApi extends KubeApi {
  /** Resolves when no write is under way any more. The lease is not freed before: a write that lands later would be one of a replica that does not lead. */
  settled(): Promise<void>;
}

/** Reads as they are; writes only while leading, each with a deadline that the lease outlives. */
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

/** What the loops write through: only while leading, not while everything is paused, and not at all in a dry run. */
export function loopApi(leading: KubeApi, paused: () => boolean, dryRun: boolean, log: Log): KubeApi {
  if (dryRun) return dryRunApi(leading, log);
  return withholdingApi(leading, { allowed: () => (paused() ? 'everything is paused' : true) });
}

/** The same leadership for a dry run: what would be noted on the Lease is not. */
export function readOnlyLeadership(leadership: Leadership): Leadership {
  return {
    get leading() {
      return leadership.leading;
    },
    timeLeftMs: () => leadership.timeLeftMs(),
    leaderReportUrl: () => leadership.leaderReportUrl(),
    annotations: () => leadership.annotations(),
    annotate: async () => {},
  };
}
