import type { Canary } from '../model/canaries.ts';
import type { BudgetKind } from '../model/deletion-budget.ts';
import type { MissingReason } from './reasons.ts';
import type { Silence } from './silence.ts';

export const secondAnswerMs = 15_000;
export const secondAnswerWithoutCanaryMs = 5 * 60_000;
export const minimumAgeMs = 5 * 60_000;

/** What the current credential can see of the scope. */
export interface CredentialVisibility {
  readonly canary: Canary;
  /** A lookup by id has shown an instance, found or in a terminal state, since the credential was loaded. */
  readonly hasSeenInstance: boolean;
}

/** Everything that the decision to delete a Node depends on. Times are monotonic milliseconds of one clock. */
export interface MissingInstance extends CredentialVisibility {
  readonly state: 'gone' | 'absent';
  /** When the current answer was requested: a pass may wait for other answers long after this one arrived. */
  readonly askedMs: number;
  /** When the first answer of this series was examined. Any other answer and any sign of life begins a new series. */
  readonly firstMs: number;
  /** The first of them given while a canary was found. */
  readonly firstWithCanaryMs: number | undefined;
  /** The Node's record says that its instance was once found in the scope that answered. */
  readonly recorded: boolean;
  /** It has no record because it still waits for its initialisation, and this scope alone accepts its providerID. */
  readonly joining: boolean;
  readonly nodeAgeMs: number;
  /** How long this Node must be silent. */
  readonly silence: Silence;
  /** Age of the newest of lease renewal and report, read live; Infinity where there is none. */
  readonly sinceLifeMs: number;
  /** How long the lease has been unchanged, by our own clock. */
  readonly leaseUnchangedMs: number;
  /** The lease was renewed or a report came since `firstMs`. */
  readonly lifeSinceFirst: boolean;
  /** Read live. */
  readonly ready: boolean;
  /** The Node's own agent reports another instance than the Node's providerID names. */
  readonly replaced: boolean;
  /**
   * `marked`: an autoscaler has chosen the Node for deletion; `announced`: the cloud announced the VM's
   * end.
   */
  readonly expected: 'marked' | 'announced' | undefined;
  /** A person has released the deletion of this Node object. */
  readonly released: boolean;
}

export type Verdict =
  /** `budget`: the budget that the deletion needs; undefined = none. */
  | { readonly act: 'delete'; readonly budget: BudgetKind | undefined }
  | { readonly act: 'wait'; readonly reason: MissingReason; readonly checkInMs: number; readonly restart?: boolean };

/**
 * Whether a Node may be deleted now. An unknown answer never counts as absent and does not get here, and the absence of
 * every instance does not count either. A sign of life prevents the deletion; Ready=True, which lags by up to a minute,
 * does not count against `gone`. Pure.
 */
export function decideDeletion(at: MissingInstance): Verdict {
  const wait = (reason: MissingReason, checkInMs: number, restart = false): Verdict => ({
    act: 'wait',
    reason,
    checkInMs: Math.max(1000, checkInMs),
    ...(restart ? { restart } : {}),
  });
  // That the cloud shows the end of that very instance proves that it was of this scope.
  const isOfScope = at.recorded || (at.state === 'gone' && at.joining);
  if (!isOfScope) return wait('NeverFound', 5 * 60_000);
  if (at.replaced && isAlive(at)) return wait('InstanceReplaced', 60_000, true);
  if (isTotalAbsence(at)) return wait('CanaryNotFound', 60_000, true);
  if (at.lifeSinceFirst) return wait('SignOfLife', secondAnswerMs, true);
  const ofAgeInMs = at.nodeAgeMs < minimumAgeMs ? minimumAgeMs - at.nodeAgeMs : 0;
  if (at.state === 'absent') {
    if (at.ready) return wait('SignOfLife', 60_000, true);
    if (ofAgeInMs > 0) return wait('TooYoung', ofAgeInMs);
    const confirmed = confirmedIn(at);
    if (confirmed > 0) return wait('Confirming', confirmed);
  }
  // A kubelet may register a Node of a terminated VM again as soon as it is deleted.
  if (!at.recorded && ofAgeInMs > 0) return wait('TooYoung', ofAgeInMs);
  if (at.sinceLifeMs < at.silence.lifeMs) return wait('Confirming', at.silence.lifeMs - at.sinceLifeMs);
  if (at.leaseUnchangedMs < at.silence.leaseMs) return wait('Confirming', at.silence.leaseMs - at.leaseUnchangedMs);
  return { act: 'delete', budget: budgetOf(at) };
}

function isAlive(at: MissingInstance): boolean {
  return at.lifeSinceFirst || (at.state === 'absent' && at.ready) || at.sinceLifeMs < at.silence.lifeMs;
}

/**
 * The absence of every instance proves nothing: the credential may be of another project or have no rights. A person
 * may overrule this.
 */
function isTotalAbsence({ state, canary, hasSeenInstance, released }: MissingInstance): boolean {
  if (state === 'gone' || released) return false;
  return canary === 'not-found' || (canary === 'none' && !hasSeenInstance);
}

/** Milliseconds until this answer counts as the second one; 0 or less when it does. */
function confirmedIn(at: MissingInstance): number {
  const plain = secondAnswerWithoutCanaryMs - (at.askedMs - at.firstMs);
  if (at.canary !== 'found' || at.firstWithCanaryMs === undefined) return plain;
  return Math.min(plain, secondAnswerMs - (at.askedMs - at.firstWithCanaryMs));
}

function budgetOf({ state, recorded, expected, released }: MissingInstance): BudgetKind | undefined {
  if ((state === 'gone' && recorded) || released || expected === 'marked') return undefined;
  // Its kubelet chose the providerID, so it takes nothing from the budgets of Nodes whose instance was found.
  if (!recorded) return 'joining';
  return expected === 'announced' ? 'announced' : 'deletion';
}
