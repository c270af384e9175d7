import type { ServiceView } from '../model/service-view.ts';
import { fingerprintOf } from './service-fingerprint.ts';

/**
 * The delay after failures. Our own writes and resyncs enqueue a Service, but do not end the delay: a change of the
 * Service does, and one of its members shortens it.
 */
export interface BackOff {
  readonly fingerprint: string;
  /** Monotonic milliseconds. */
  readonly untilMs: number;
  /** Other members are tried from then on. Monotonic milliseconds. */
  readonly membersFromMs: number;
  /** Consecutive, for the same desired state. */
  readonly failures: number;
  /** Another desired state failed before: a person corrected something and waits for the answer. */
  readonly isCorrection: boolean;
}

/** Upstream's delays between tries. */
export const serviceBackOff = { firstMs: 5000, maxMs: 300_000 };
/** The longest delay for other members of a load balancer that exists. */
const membersMaxMs = 60_000;
/** Slightly shorter than the delay of the queue, so that the queue's next try is not skipped. */
const share = 0.75;

/**
 * Milliseconds until the next try; 0 = now. Pure.
 *
 * @param membersChanged since the last try
 */
export function backOffLeftMs(
  before: BackOff | undefined,
  service: ServiceView,
  membersChanged: boolean,
  nowMs: number,
): number {
  if (before?.fingerprint !== print(service)) return 0;
  return Math.max(0, (membersChanged ? before.membersFromMs : before.untilMs) - nowMs);
}

/**
 * The delay after one more failure. Pure.
 *
 * @param followsMembers another try may get other members to its load balancer, although this one failed
 */
export function backOffAfter(
  before: BackOff | undefined,
  service: ServiceView,
  { retryAfterMs, followsMembers }: { readonly retryAfterMs?: number | undefined; readonly followsMembers: boolean },
  nowMs: number,
): BackOff {
  const fingerprint = print(service);
  const same = before?.fingerprint === fingerprint ? before : undefined;
  const failures = (same?.failures ?? 0) + 1;
  const isCorrection = same?.isCorrection ?? before !== undefined;
  const { firstMs, maxMs } = serviceBackOff;
  const delayMs = Math.min(maxMs, firstMs * 2 ** Math.min(failures - 1, 30)) * share;
  const fromMs = (ms: number) => nowMs + Math.max(ms, retryAfterMs ?? 0);
  const membersFromMs = fromMs(followsMembers ? Math.min(delayMs, membersMaxMs) : delayMs);
  return { fingerprint, untilMs: fromMs(delayMs), membersFromMs, failures, isCorrection };
}

/** Whether a change of the Service ends its delay. Pure. */
export function endsBackOff(before: ServiceView, now: ServiceView): boolean {
  return print(before) !== print(now);
}

function print(service: ServiceView): string {
  return `${service.uid} ${service.deleting} ${service.loadBalancerClass} ${fingerprintOf(service)}`;
}
