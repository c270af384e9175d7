import type { MissingReason } from './reasons.ts';

/** A Node shows no sign of life when its last one is at least this old. */
export const quietMs = 20_000;
/** The lease must also be seen unchanged for this long by our own clock, since the kubelet's clock, which stamps it, may lag; leases are renewed every 10 s. */
export const observedQuietMs = 12_000;
export const secondAnswerMs = 15_000;
export const secondAnswerWithoutCanaryMs = 5 * 60_000;
export const minimumAgeMs = 5 * 60_000;

/**
 * Whether other instances, known to be alive, were found in the same pass by the same kind of request. `none` = there was none to ask for.
 */
export type Canary = 'found' | 'not-found' | 'none';

/** Everything that the decision to delete a Node depends on. Times are monotonic milliseconds of one clock. */
export interface MissingCase {
  readonly state: 'gone' | 'absent';
  /** When the present answer was asked for: a pass may wait for others long after this answer came. */
  readonly askedMs: number;
  /** When the first answer of this series had been weighed; the series starts anew with every other answer and every sign of life. */
  readonly firstMs: number;
  /** The first of them given while a canary was found. */
  readonly firstWithCanaryMs: number | undefined;
  readonly canary: Canary;
  /** The Node's record says that its instance was once found in the very scope that answered. */
  readonly recorded: boolean;
  readonly nodeAgeMs: number;
  /** Age of the newest of lease renewal and report, read live; Infinity where there is none. */
  readonly sinceLifeMs: number;
  /** How long our own clock has seen the lease unchanged. */
  readonly leaseUnchangedMs: number;
  /** The lease was renewed or a report came since `firstMs`. */
  readonly lifeSinceFirst: boolean;
  /** Read live. */
  readonly ready: boolean;
  /** The interruption was announced, or an autoscaler marked the Node: no budget is needed. */
  readonly explained: boolean;
}

export type Verdict =
  | { readonly act: 'delete'; readonly budgeted: boolean }
  | { readonly act: 'wait'; readonly reason: MissingReason; readonly checkInMs: number; readonly restart?: boolean };

/**
 * Whether a Node may be deleted now. Unknown is never absent (such answers do not come here), life vetoes, and Ready=True, which lags by up to a minute, does not
 * count against `gone`. Pure.
 */
export function judgeMissing(at: MissingCase): Verdict {
  const wait = (reason: MissingReason, checkInMs: number, restart = false): Verdict => ({
    act: 'wait',
    reason,
    checkInMs: Math.max(1000, checkInMs),
    ...(restart ? { restart } : {}),
  });
  if (!at.recorded) return wait('NeverFound', 5 * 60_000);
  if (at.state === 'absent' && at.canary === 'not-found') return wait('CanaryNotFound', 60_000);
  if (at.lifeSinceFirst) return wait('SignOfLife', secondAnswerMs, true);
  if (at.state === 'absent') {
    if (at.ready) return wait('SignOfLife', 60_000, true);
    if (at.nodeAgeMs < minimumAgeMs) return wait('TooYoung', minimumAgeMs - at.nodeAgeMs);
    const confirmed = confirmedIn(at);
    if (confirmed > 0) return wait('Confirming', confirmed);
  }
  if (at.sinceLifeMs < quietMs) return wait('Confirming', quietMs - at.sinceLifeMs);
  if (at.leaseUnchangedMs < observedQuietMs) return wait('Confirming', observedQuietMs - at.leaseUnchangedMs);
  return { act: 'delete', budgeted: at.state === 'absent' && !at.explained };
}

/** Milliseconds until this answer would count as the second one; 0 or less when it does. */
function confirmedIn(at: MissingCase): number {
  const plain = secondAnswerWithoutCanaryMs - (at.askedMs - at.firstMs);
  if (at.canary !== 'found' || at.firstWithCanaryMs === undefined) return plain;
  return Math.min(plain, secondAnswerMs - (at.askedMs - at.firstWithCanaryMs));
}
