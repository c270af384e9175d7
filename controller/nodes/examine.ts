import { annotations } from '../../common/well-known.ts';
import type { Lookup } from '../clouds/cloud.ts';
import { type Canary, judgeMissing, observedQuietMs, quietMs, type Verdict } from './absence.ts';
import { explanationOf } from './explained.ts';
import { type NodeContext, reportOf } from './node-context.ts';
import { isPaused, type NodeView, readiness } from './node-view.ts';
import type { MissingReason } from './reasons.ts';
import { parseRecord } from './scope-record.ts';
import { type LiveNode, readLife } from './signs-of-life.ts';
import type { Series, Suspect } from './suspects.ts';

/** What one look at a suspect came to. */
export type Finding =
  /** The Node went, was re-created, or is paused: nothing to do. */
  | { readonly kind: 'over' }
  | {
      readonly kind: 'wait';
      readonly node: NodeView | undefined;
      readonly reason: MissingReason;
      readonly checkInMs: number;
    }
  /** The evidence is complete; the budget and the write remain. */
  | {
      readonly kind: 'delete';
      readonly node: NodeView;
      readonly budgeted: boolean;
      readonly evidence: string;
      readonly state: 'gone' | 'absent';
      /** When the signs of life were read, monotonic. */
      readonly readAtMs: number;
    }
  /** Powered off, but it may still be running down. */
  | { readonly kind: 'powering-off'; readonly alive: boolean; readonly checkInMs: number }
  | { readonly kind: 'powered-off'; readonly node: NodeView };

type Context = Pick<NodeContext, 'api' | 'clock' | 'reports'>;

/**
 * Weighs a bad answer against the signs of life of the Node, which are read live. Reads only; keeps the row of answers in `suspect.series`.
 *
 * @param lookup `gone`, `absent`, or `found` with its power off
 * @param askedMs when it was asked for, monotonic
 */
export async function examine(
  context: Context,
  suspect: Suspect,
  lookup: Lookup,
  scope: string,
  canary: Canary,
  askedMs: number,
): Promise<Finding> {
  const { clock } = context;
  const state = lookup.state === 'gone' || lookup.state === 'absent' ? lookup.state : 'stopped';
  let live: LiveNode;
  try {
    live = await readLife(context.api, suspect.name);
  } catch {
    // It is found, only off: nobody may call it missing.
    if (state === 'stopped') return { kind: 'powering-off', alive: false, checkInMs: 5000 };
    return { kind: 'wait', node: undefined, reason: 'LifeUnknown', checkInMs: 5000 };
  }
  const { node } = live;
  if (node === undefined || node.uid !== suspect.uid || node.deleting || isPaused(node)) return { kind: 'over' };

  const nowMs = clock.monotonic();
  const stored = reportOf(context, node);
  const series = continued(suspect.series, state, live, canary, nowMs);
  suspect.series = series;
  const reportAgeMs = stored === undefined ? Number.POSITIVE_INFINITY : nowMs - stored.receivedMonotonicMs;
  const leaseUnchangedMs = live.renewTime === '' ? Number.POSITIVE_INFINITY : nowMs - series.renewTimeSeenMs;
  // The kubelet's clock stamps the lease and may run ahead; what our own clock has seen unchanged is quiet whatever the stamp says.
  const sinceLeaseMs = Math.max(stampAgeMs(live.renewTime, clock.now()), leaseUnchangedMs);
  const sinceLifeMs = Math.min(sinceLeaseMs, reportAgeMs);
  const lifeSinceFirst =
    live.renewTime !== series.renewTime || (stored !== undefined && stored.receivedMonotonicMs > series.firstMs);

  if (state === 'stopped') {
    if (lifeSinceFirst) suspect.series = undefined;
    const quietInMs = Math.max(quietMs - sinceLifeMs, observedQuietMs - leaseUnchangedMs);
    const quiet = !lifeSinceFirst && quietInMs <= 0;
    if (quiet && readiness(node) !== 'True') return { kind: 'powered-off', node };
    const alive = lifeSinceFirst || readiness(node) === 'True';
    return { kind: 'powering-off', alive, checkInMs: Math.max(1000, quietInMs) };
  }

  const verdict: Verdict = judgeMissing({
    state,
    askedMs,
    firstMs: series.firstMs,
    firstWithCanaryMs: series.firstWithCanaryMs,
    canary,
    recorded: parseRecord(node.annotations[annotations.instance])?.scope === scope,
    nodeAgeMs: clock.now() - node.createdAtMs,
    sinceLifeMs,
    leaseUnchangedMs,
    lifeSinceFirst,
    ready: readiness(node) === 'True',
    explained: explanationOf(node, stored?.report) !== undefined,
  });
  if (verdict.act === 'wait') {
    // An answer given while every canary was missing is no answer; it begins no row.
    if (verdict.restart || verdict.reason === 'CanaryNotFound') suspect.series = undefined;
    return { kind: 'wait', node, reason: verdict.reason, checkInMs: verdict.checkInMs };
  }
  const what =
    lookup.state === 'gone' ? `the cloud shows it ${lookup.terminalState}` : 'the cloud has no such instance';
  const evidence = `${what}, first seen ${Math.round((nowMs - series.firstMs) / 1000)} s ago; no sign of life for ${
    Number.isFinite(sinceLifeMs) ? `${Math.round(sinceLifeMs / 1000)} s` : 'ever since it joined'
  }${lookup.state === 'absent' ? `; canary ${canary}` : ''}`;
  return { kind: 'delete', node, budgeted: verdict.budgeted && !released(node), evidence, state, readAtMs: nowMs };
}

function stampAgeMs(renewTime: string, now: number): number {
  if (renewTime === '') return Number.POSITIVE_INFINITY;
  const at = Date.parse(renewTime);
  return Number.isNaN(at) ? 0 : Math.max(0, now - at);
}

/** A person may let one Node go past the budget, by its uid, so that a re-created Node is not meant. */
function released(node: NodeView): boolean {
  return node.annotations[annotations.releaseDeletion] === node.uid;
}

function continued(
  before: Series | undefined,
  state: Series['state'],
  live: LiveNode,
  canary: Canary,
  nowMs: number,
): Series {
  const withCanary = canary === 'found' ? nowMs : undefined;
  if (before?.state !== state) {
    return { state, firstMs: nowMs, firstWithCanaryMs: withCanary, renewTime: live.renewTime, renewTimeSeenMs: nowMs };
  }
  return { ...before, firstWithCanaryMs: before.firstWithCanaryMs ?? withCanary };
}
