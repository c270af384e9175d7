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
  /** Consecutive, for the same desired state. */
  readonly failures: number;
  /** Another desired state failed before: a person corrected something and waits for the answer. */
  readonly isCorrection: boolean;
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
  const fingerprint = print(service);
  const same = before?.fingerprint === fingerprint ? before : undefined;
  const failures = (same?.failures ?? 0) + 1;
  const isCorrection = same?.isCorrection ?? before !== undefined;
  const { firstMs, maxMs } = serviceBackOff;
  const delayMs = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30)) * share;
  return { fingerprint, untilMs: nowMs + Math.max(delayMs, retryAfterMs ?? 0), failures, isCorrection };
}

/** Whether a change of the Service ends its delay. Pure. */
export function endsBackOff(before: ServiceView, now: ServiceView): boolean {
  return print(before) !== print(now);
}

function print(service: ServiceView): string {
  return `${service.uid} ${service.deleting} ${service.loadBalancerClass} ${fingerprintOf(service)}`;
}
