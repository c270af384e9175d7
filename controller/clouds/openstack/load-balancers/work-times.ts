import type { Clock } from '../../../../common/process/clock.ts';
import type { LoadBalancer } from './answer.ts';
import { createPace } from './pace.ts';
import { isAtWork } from './plan-wait.ts';

/** How long Octavia has been at work on each load balancer, and how long that may take. */
export interface WorkTimes {
  /** As it was just seen, with how long it has been at work. */
  timed(loadBalancer: LoadBalancer): LoadBalancer;
  /** As our change has left it, with how long that may take. @param work which change, as a word */
  begun(loadBalancer: LoadBalancer, work: string): LoadBalancer;
  /** When our last change of it was answered, monotonic milliseconds, while it is at work on that. */
  begunAtMs(id: string): number | undefined;
  /** We have just made it: a replica of Octavia's database that lags behind may not show it yet. */
  isNew(id: string): boolean;
  /** It was just seen that it does not exist. */
  ended(id: string): void;
}

interface Work {
  readonly status: string;
  /** Provider and change; undefined: it is not ours. */
  readonly kind: string | undefined;
  /** When our change was answered, or it was first seen. */
  readonly sinceMs: number;
  /** The last look that showed it at work. */
  readonly stillMs: number | undefined;
}

const newMs = 30_000;
/** More than lies between two lists of everything, by default. */
const unseenMs = 900_000;

export function createWorkTimes(clock: Clock): WorkTimes {
  const pace = createPace();
  /** By load balancer that is at work. */
  const atWork = new Map<string, Work>();

  function done(id: string): void {
    const { kind, sinceMs, stillMs } = atWork.get(id) ?? {};
    atWork.delete(id);
    if (kind === undefined || sinceMs === undefined) return;
    pace.done(kind, clock.monotonic() - sinceMs, stillMs === undefined ? undefined : stillMs - sinceMs);
  }

  function withTimes(loadBalancer: LoadBalancer, { kind, sinceMs }: Work): LoadBalancer {
    const expectedMs = kind === undefined ? undefined : pace.expectedMs(kind);
    return { ...loadBalancer, pendingMs: clock.monotonic() - sinceMs, expectedMs };
  }

  return {
    timed(loadBalancer) {
      const { id, status } = loadBalancer;
      if (!isAtWork(loadBalancer)) {
        if (status === 'ACTIVE') done(id);
        else atWork.delete(id);
        return loadBalancer;
      }
      const stillMs = clock.monotonic();
      for (const [other, seen] of atWork) if (stillMs - (seen.stillMs ?? seen.sinceMs) > unseenMs) atWork.delete(other);
      const before = atWork.get(id);
      const known =
        before?.status === status ? before : { status, kind: undefined, sinceMs: before?.sinceMs ?? stillMs };
      const work = { ...known, stillMs };
      atWork.set(id, work);
      return withTimes(loadBalancer, work);
    },
    begun(loadBalancer, work) {
      const { id, status, provider } = loadBalancer;
      const begun = { status, kind: `${provider}: ${work}`, sinceMs: clock.monotonic(), stillMs: undefined };
      atWork.set(id, begun);
      return withTimes(loadBalancer, begun);
    },
    begunAtMs(id) {
      const { kind, sinceMs } = atWork.get(id) ?? {};
      return kind === undefined ? undefined : sinceMs;
    },
    isNew(id) {
      const { kind, sinceMs = 0 } = atWork.get(id) ?? {};
      return kind?.endsWith(': create load balancer') === true && clock.monotonic() - sinceMs < newMs;
    },
    ended: done,
  };
}
