import { KubeError } from '../api.ts';
import type { Leadership } from '../leadership.ts';

/** The annotations of a Lease, which outlive a leader. */
export interface MemoryLease {
  annotations: Readonly<Record<string, string>>;
  /** While true, nothing can be written. */
  broken: boolean;
  writes: number;
}

export function memoryLease(): MemoryLease {
  return { annotations: {}, broken: false, writes: 0 };
}

/**
 * A leadership that is never lost, with this Lease.
 *
 * @param onWrite called after each write with what it changed
 */
export function memoryLeadership(
  lease: MemoryLease,
  {
    timeLeftMs = () => 15_000,
    onWrite = () => {},
  }: {
    readonly timeLeftMs?: () => number;
    readonly onWrite?: (changes: Readonly<Record<string, string | null>>) => void;
  } = {},
): Leadership {
  return {
    leading: true,
    leaderReportUrl: () => undefined,
    timeLeftMs,
    annotations: () => lease.annotations,
    async annotate(changes) {
      if (lease.broken) throw new KubeError({ status: 503, reason: 'ServiceUnavailable', message: 'injected' });
      const next = { ...lease.annotations };
      for (const [key, value] of Object.entries(changes)) {
        if (value === null) delete next[key];
        else next[key] = value;
      }
      // The write takes its time: a caller that reads and spends during the write must not spend twice.
      await Promise.resolve();
      lease.writes += 1;
      lease.annotations = next;
      onWrite(changes);
    },
  };
}
