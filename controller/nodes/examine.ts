import { annotations } from '../../common/well-known.ts';
import type { Lookup } from '../clouds/cloud.ts';
import { type Canary, isRecordedIn } from '../model/canaries.ts';
import type { BudgetKind } from '../model/deletion-budget.ts';
import { isPaused, isUninitialized, type NodeView, readiness } from '../model/node-view.ts';
import { parseRecord } from '../model/scope-record.ts';
import { type CredentialVisibility, decideDeletion, type Verdict } from './deletion-decision.ts';
import { expectedTermination, howToRelease, isReleased } from './expected-termination.ts';
import { namesInstance } from './instance-identity.ts';
import { type NodeContext, reportOf } from './node-context.ts';
import { type MissingReason, missingReasons } from './reasons.ts';
import { type LiveNode, readSignsOfLife } from './signs-of-life.ts';
import type { Series, Suspect } from './suspects.ts';

/** The result of examining a suspect. */
export type Finding =
  /** Nothing to do: the Node was deleted or re-created, or it is paused and only powered off. */
  | { readonly kind: 'over' }
  | {
      readonly kind: 'wait';
      readonly node: NodeView | undefined;
      readonly reason: MissingReason;
      /** For people, with what they have to do, if anything. */
      readonly message: string;
      readonly checkInMs: number;
    }
  /** The evidence is complete. The budget and the write remain. */
  | {
      readonly kind: 'delete';
      readonly node: NodeView;
      /** Undefined: the deletion needs no budget. */
      readonly budget: BudgetKind | undefined;
      readonly evidence: string;
      readonly state: 'gone' | 'absent';
      /** When the signs of life were read, monotonic. */
      readonly readAtMs: number;
    }
  /** Powered off, but the machine may still be shutting down. */
  | { readonly kind: 'powering-off'; readonly alive: boolean; readonly checkInMs: number }
  | { readonly kind: 'powered-off'; readonly node: NodeView; readonly suspended: boolean };

type Context = Pick<NodeContext, 'api' | 'clock' | 'reports' | 'resolver'>;
type Stored = ReturnType<typeof reportOf>;

/**
 * Compares the cloud's answer with the signs of life of the Node, which are read live. Reads only. Keeps the series of
 * equal answers in `suspect.series`.
 *
 * @param lookup `gone`, `absent`, or `found` with its power off
 * @param askedMs when the lookup was sent, monotonic
 */
export async function examine(
  context: Context,
  suspect: Suspect,
  lookup: Lookup,
  scope: string,
  visibility: CredentialVisibility,
  askedMs: number,
): Promise<Finding> {
  const { clock } = context;
  const state = lookup.state === 'gone' || lookup.state === 'absent' ? lookup.state : 'stopped';
  // The answer may be as old as the request, so silence is counted up to the time of the request.
  const readAtMs = clock.monotonic();
  let live: LiveNode;
  try {
    live = await readSignsOfLife(context.api, suspect.name);
  } catch {
    // The instance exists and is powered off, so it is not missing.
    if (state === 'stopped') return { kind: 'powering-off', alive: false, checkInMs: 5000 };
    const { meaning: message } = missingReasons.LifeUnknown;
    return { kind: 'wait', node: undefined, reason: 'LifeUnknown', message, checkInMs: 5000 };
  }
  const { node, silence, serverNowMs } = live;
  if (node === undefined || node.uid !== suspect.uid || node.deleting) return { kind: 'over' };
  // The kubelet can write this annotation itself, so it prevents taints, but not deletions.
  if (state === 'stopped' && isPaused(node)) return { kind: 'over' };

  const nowMs = clock.monotonic();
  const stored = reportOf(context, node);
  const series = continued(suspect.series, state, live, visibility.canary, nowMs);
  suspect.series = series;
  const reportAgeMs = stored === undefined ? Number.POSITIVE_INFINITY : readAtMs - stored.receivedMonotonicMs;
  const leaseUnchangedMs =
    live.renewTime === '' ? Number.POSITIVE_INFINITY : Math.max(0, readAtMs - series.renewTimeSeenMs);
  // The kubelet's clock stamps the lease and may run ahead. A lease that our own clock has seen unchanged is silent,
  // whatever its timestamp.
  const sinceLeaseMs = Math.max(stampAgeMs(live.renewTime, serverNowMs), leaseUnchangedMs);
  const sinceLifeMs = Math.min(sinceLeaseMs, reportAgeMs);
  const lifeSinceFirst =
    live.renewTime !== series.renewTime || (stored !== undefined && stored.receivedMonotonicMs > series.firstMs);

  if (state === 'stopped') {
    if (lifeSinceFirst) suspect.series = undefined;
    const quietInMs = Math.max(silence.lifeMs - sinceLifeMs, silence.leaseMs - leaseUnchangedMs);
    const quiet = !lifeSinceFirst && quietInMs <= 0;
    const suspended = lookup.state === 'found' && lookup.power === 'suspended';
    if (quiet && readiness(node) !== 'True') return { kind: 'powered-off', node, suspended };
    const alive = lifeSinceFirst || readiness(node) === 'True';
    return { kind: 'powering-off', alive, checkInMs: Math.max(1000, quietInMs) };
  }

  const verdict: Verdict = decideDeletion({
    state,
    askedMs,
    firstMs: series.firstMs,
    firstWithCanaryMs: series.firstWithCanaryMs,
    ...visibility,
    recorded: isOnRecord(context, node, scope, state === 'gone' || visibility.canary === 'found'),
    joining: isJoining(context, node),
    nodeAgeMs: ageMs(node, serverNowMs, nowMs - suspect.sinceMs),
    silence,
    sinceLifeMs,
    leaseUnchangedMs,
    lifeSinceFirst,
    ready: readiness(node) === 'True',
    replaced: reportedOther(node, stored) !== undefined,
    expected: expectedTermination(node, stored?.report, serverNowMs ?? clock.now()),
    released: isReleased(node),
  });
  if (verdict.act === 'wait') {
    if (verdict.restart) suspect.series = undefined;
    const { reason, checkInMs } = verdict;
    return { kind: 'wait', node, reason, message: messageOf(reason, node, stored, scope, visibility), checkInMs };
  }
  const what =
    lookup.state === 'gone' ? `the cloud shows it ${lookup.terminalState}` : 'the cloud has no such instance';
  const silent = Number.isFinite(sinceLifeMs) ? `${Math.round(sinceLifeMs / 1000)} s` : 'ever since it joined';
  const evidence = [
    `${what}, first seen ${Math.round((nowMs - series.firstMs) / 1000)} s ago`,
    `no sign of life for ${silent}`,
    ...(lookup.state === 'absent' ? [`canary ${visibility.canary}`] : []),
    ...(isReleased(node) ? ['released by a person'] : []),
  ].join('; ');
  return { kind: 'delete', node, budget: verdict.budget, evidence, state, readAtMs };
}

/**
 * A record without the account, as older versions wrote it, counts only where another fact shows that the account is
 * the same.
 */
function isOnRecord({ resolver }: Context, node: NodeView, scope: string, accountShown: boolean): boolean {
  const isExact = parseRecord(node.annotations[annotations.instance])?.scope === scope;
  return (isExact || accountShown) && isRecordedIn(node, scope, resolver.configured);
}

/** A Node that waits for its initialisation and whose instance can be of one configured scope only. */
function isJoining({ resolver }: Context, node: NodeView): boolean {
  const accepting = resolver.configured.filter((cloud) => cloud.accepts(node.providerID));
  return isUninitialized(node) && node.annotations[annotations.instance] === undefined && accepting.length === 1;
}

/** Measured by the API server's clock: our own wall clock may be wrong by hours. */
function stampAgeMs(renewTime: string, serverNowMs: number | undefined): number {
  if (renewTime === '') return Number.POSITIVE_INFINITY;
  const at = Date.parse(renewTime);
  return serverNowMs === undefined || Number.isNaN(at) ? 0 : Math.max(0, serverNowMs - at);
}

/**
 * A lower bound of the Node's age: by the API server's clock, which stamped the Node, and by how long it has been a
 * suspect.
 */
function ageMs({ createdAtMs }: NodeView, serverNowMs: number | undefined, suspectForMs: number): number {
  return Math.max(suspectForMs, serverNowMs === undefined ? 0 : serverNowMs - createdAtMs);
}

/** The other instance that the Node's own agent reports; undefined when it reports none or the same one. */
function reportedOther(node: NodeView, stored: Stored): string | undefined {
  const reported = stored?.report.instance;
  return reported && !namesInstance(node.providerID, reported) ? reported.providerID : undefined;
}

function messageOf(
  reason: MissingReason,
  node: NodeView,
  stored: Stored,
  scope: string,
  { canary }: CredentialVisibility,
): string {
  const { meaning } = missingReasons[reason];
  if (reason === 'InstanceReplaced') {
    const other = reportedOther(node, stored);
    return (
      `the agent reports ${other}, but the Node has providerID ${node.providerID}, which is gone. Delete the ` +
      `Node and restart its kubelet, so that it registers again: kubectl delete node ${node.name}`
    );
  }
  if (reason !== 'CanaryNotFound') return meaning;
  const why =
    canary === 'none'
      ? `no instance of scope ${scope} was found since this credential was loaded`
      : `no other recorded instance of scope ${scope} was found either`;
  return (
    `${why}: is the credential of another project? If the VM is really gone, a person releases the Node: ` +
    howToRelease(node)
  );
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
    const { renewTime } = live;
    const renewTimeSeenMs = before?.renewTime === renewTime ? before.renewTimeSeenMs : nowMs;
    return { state, firstMs: nowMs, firstWithCanaryMs: withCanary, renewTime, renewTimeSeenMs };
  }
  return { ...before, firstWithCanaryMs: before.firstWithCanaryMs ?? withCanary };
}
