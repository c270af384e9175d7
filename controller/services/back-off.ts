import type { ServiceView } from '../model/service-view.ts';
import { fingerprintOf } from './service-fingerprint.ts';

/**
 * The delay after failures. Our own writes, resyncs and changes of members enqueue a Service, but do not end the delay:
 * only a change of the desired state does.
 */
export interface BackOff {
  readonly fingerprint: string;
  /** Monotonic milliseconds. */
  readonly untilMs: number;
  /** Consecutive. */
  readonly failures: number;
}

/** Upstream's delays between tries. */
export const serviceBackOff = { firstMs: 5000, maxMs: 300_000 };
/** Slightly shorter than the delay of the queue, so that the queue's next try is not skipped. */
const share = 0.75;

/** Milliseconds until the next try; 0 = now. Pure. */
export function backOffLeftMs(before: BackOff | undefined, service: ServiceView, nowMs: number): number {
  return before?.fingerprint === print(service) ? Math.max(0, before.untilMs - nowMs) : 0;
}

/** The delay after one more failure. Pure. */
export function backOffAfter(
  before: BackOff | undefined,
  service: ServiceView,
  retryAfterMs: number | undefined,
  nowMs: number,
): BackOff {
  const failures = (before?.failures ?? 0) + 1;
  const { firstMs, maxMs } = serviceBackOff;
  const delayMs = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30)) * share;
  return { fingerprint: print(service), untilMs: nowMs + Math.max(delayMs, retryAfterMs ?? 0), failures };
}

function print(service: ServiceView): string {
  return `${service.uid} ${service.deleting} ${service.loadBalancerClass} ${fingerprintOf(service)}`;
}
