import type { Clock } from '../../common/process/clock.ts';
import type { ServiceView } from '../model/service-view.ts';
import { asks } from './service-work.ts';

/**
 * Keeps the delay after a failure from being undone by events: our own writes, resyncs and changes of members bring a Service into the queue again, but only a change
 * of what it asks for opens the gate before its time.
 */
export interface RetryGate {
  /** Milliseconds until another try is worth it; 0 when it is now. */
  remainingMs(service: ServiceView): number;
  /** Closes after a failure; answers how many there were in a row. */
  failed(service: ServiceView, retryAfterMs: number | undefined): number;
  forget(uid: string): void;
}

/** A little less than the queue's own delay, so that its next try is let through. */
const share = 0.75;

export function createRetryGate(
  clock: Clock,
  backoff: { readonly firstMs: number; readonly maxMs: number },
): RetryGate {
  const closed = new Map<string, { readonly asked: string; readonly untilMs: number; readonly failures: number }>();
  const print = (service: ServiceView) => `${service.deleting} ${service.loadBalancerClass} ${asks(service)}`;
  return {
    remainingMs(service) {
      const held = closed.get(service.uid);
      return held?.asked === print(service) ? Math.max(0, held.untilMs - clock.monotonic()) : 0;
    },
    failed(service, retryAfterMs = 0) {
      const failures = (closed.get(service.uid)?.failures ?? 0) + 1;
      const delayMs = Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(failures - 1, 30)) * share;
      const untilMs = clock.monotonic() + Math.max(delayMs, retryAfterMs);
      closed.set(service.uid, { asked: print(service), untilMs, failures });
      return failures;
    },
    forget: (uid) => closed.delete(uid),
  };
}
