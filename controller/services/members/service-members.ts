import type { DesiredMember, NodeLabel, ObservedMember } from '../../clouds/load-balancers.ts';
import { desiredMember, instanceIn, type Membership } from './membership.ts';
import { plainWork, type SharedWork, servingAmong } from './shared-work.ts';
import { subsetOf } from './subset.ts';

/** The question for one Service. */
export interface MembersRequest {
  readonly scope: string;
  /** UID. */
  readonly service: string;
  readonly trafficPolicy: 'Cluster' | 'Local';
  /** As last observed; undefined while there is no load balancer. */
  readonly observed: readonly ObservedMember[] | undefined;
  /** Of the cloud: the maximal number of members that take connections. */
  readonly maxMembers: number | undefined;
  /** Of the cloud: whether `draining` has an effect. */
  readonly drains: boolean;
  /** Labels that a Node must have; none = any Node. */
  readonly nodeLabels?: readonly NodeLabel[] | undefined;
  /** providerIDs that the cloud refuses at present: no member waits for them to be added. */
  readonly refused?: ReadonlySet<string> | undefined;
  /** From the last answer for this Service; undefined = this is the first question. */
  readonly drainTimes?: DrainTimes | undefined;
}

export interface ServiceMembers {
  /** The complete set. A member without addresses has only its providerID: it stays unchanged in the cloud. */
  readonly members: readonly DesiredMember[];
  /**
   * Ask again after this many milliseconds: a member drains, or waits to. Undefined: after the next change of the set.
   */
  readonly againInMs: number | undefined;
  /** Members of this scope that take connections, without the cap; 0 is worth a warning. */
  readonly available: number;
  /** How many of those the cloud's cap leaves out. */
  readonly omitted: number;
  /** Read the load balancer before asking again: members wait for its health checks. */
  readonly readAgain: boolean;
  /** providerIDs that stay although their Nodes are gone, because the budget refused (`MemberRemovalWithheld`). */
  readonly withheld: readonly string[];
  /** Of the shared set. */
  readonly hash: string;
  /** For the next request; undefined = no member leaves. */
  readonly drainTimes: DrainTimes | undefined;
}

/** The times of one Service's leaving members, by instance; monotonic. */
export type DrainTimes = ReadonlyMap<string, LeavingTimes>;

interface LeavingTimes {
  /** When it began to leave. */
  readonly sinceMs: number;
  /** When others began to replace it; minus infinity, if they served before. */
  readonly replacedSinceMs: number | undefined;
  readonly drainingSinceMs: number | undefined;
}

export interface DrainOptions {
  /** How long a leaving member drains before it is removed. */
  readonly drainMs: number;
  /** How long a leaving member waits at most for a replacement. */
  readonly maxWaitMs: number;
}

/** While a member waits for its replacement, only a read tells when that is healthy. */
const waitingReadMs = 5000;
const noMembers: readonly ObservedMember[] = [];
/** Where the cloud reports no health, a new member has this long to pass its health checks. */
const settleMs = 15_000;

/**
 * The members of one Service's load balancer: all active ones (or a stable subset), and of the leaving ones only
 * current members. So a new leader adds no leaving Node, and a draining member continues to drain, for its full time.
 *
 * A leaving member starts to drain once others take connections here: at once if they did before, else when they pass
 * their health checks, or had time to. With `Local`, where a Node serves its own pods alone, all others must have been
 * added first, so that the new Nodes of the pods are members before the old ones leave. Both wait for `maxWaitMs` at
 * most. Pure.
 *
 * @param work shared where many Services ask
 */
export function membersOf(
  set: Membership,
  request: MembersRequest,
  options: DrainOptions,
  nowMs: number,
  work: SharedWork = plainWork,
): ServiceMembers {
  const sorted = sortNonMembers(set, work.nonMembers(set, request.observed ?? noMembers));
  const { maxMembers = Number.POSITIVE_INFINITY } = request;
  const room = maxMembers - sorted.kept.length;
  const undecided = sorted.leaving.filter(({ observed }) => !observed.draining);
  const pick = (max: number) =>
    set.members.length <= max ? set.members : subsetOf(work.slots(set.members), max, request.service);
  const replaced = undecided.length === 0 ? 'no' : replacement(set, pick(room - undecided.length), request, work);
  const next = new Map(
    sorted.leaving.map(({ observed, instance }) => [
      instance,
      timesOf(request.drainTimes?.get(instance), observed.draining, replaced, nowMs),
    ]),
  );
  let againInMs: number | undefined;
  const recheck = (ms: number) => {
    againInMs = Math.min(ms, againInMs ?? ms);
  };

  // Leaving members fill every slot: half of them are removed to add new ones.
  const removedNow = room - undecided.length < 1 && set.members.length > 0 ? Math.ceil(undecided.length / 2) : 0;
  const extra: DesiredMember[] = [];
  let waiting = 0;
  for (const [index, { instance, member }] of undecided.entries()) {
    const remainingMs =
      index < removedNow ? 0 : remainingWaitMs(next.get(instance), replaced, options.maxWaitMs, nowMs);
    if (remainingMs > 0) {
      waiting += 1;
      recheck(Math.min(waitingReadMs, remainingMs));
      extra.push(member(false));
    } else if (request.drains && options.drainMs > 0) extra.push(member(true));
  }
  for (const { observed, instance, member } of sorted.leaving) {
    if (!observed.draining) continue;
    const remainingMs = (next.get(instance)?.drainingSinceMs ?? nowMs) + options.drainMs - nowMs;
    if (remainingMs <= 0 || !request.drains) continue;
    recheck(remainingMs);
    extra.push(member(true));
  }
  for (const { observed, member } of sorted.kept) extra.push(member(observed.draining));

  const chosen = pick(room - waiting);
  return {
    members: extra.length === 0 ? chosen : work.join(chosen, extra),
    againInMs,
    readAgain: waiting > 0 && replaced !== 'no',
    available: set.members.length,
    omitted: set.members.length - chosen.length,
    withheld: sorted.withheld,
    hash: set.hash,
    drainTimes: next.size > 0 ? next : undefined,
  };
}

interface Extra {
  readonly observed: ObservedMember;
  readonly instance: string;
  readonly member: (draining: boolean) => DesiredMember;
}

/** The members that are not active. One that is in neither list is removed at once. */
function sortNonMembers(set: Membership, nonMembers: readonly ObservedMember[]) {
  const leaving: Extra[] = [];
  const kept: Extra[] = [];
  const withheld: string[] = [];
  const seen = new Set<string>();
  for (const one of nonMembers) {
    const { providerID } = one;
    const instance = instanceIn(set, providerID);
    if (seen.has(instance)) continue;
    seen.add(instance);
    const departed = set.departed.get(instance);
    const present = set.present.get(instance);
    const facts = present?.facts ?? departed?.facts ?? { node: '', providerID, addresses: [], zone: '' };
    const extra = { observed: one, instance, member: (draining: boolean) => desiredMember(facts, draining) };
    const phase = departed?.phase ?? present?.kind;
    if (phase === 'out' || phase === 'off') continue;
    if (phase === 'leaving' || phase === 'drains') leaving.push(extra);
    else {
      kept.push(extra);
      if (departed?.refused) withheld.push(providerID);
    }
  }
  return { leaving, kept, withheld };
}

function timesOf(
  before: LeavingTimes | undefined,
  draining: boolean,
  replaced: Replacement,
  nowMs: number,
): LeavingTimes {
  const replacedFromMs = before === undefined ? Number.NEGATIVE_INFINITY : (before.replacedSinceMs ?? nowMs);
  return {
    sinceMs: before?.sinceMs ?? nowMs,
    replacedSinceMs: replaced === 'no' || replaced === 'unhealthy' ? undefined : replacedFromMs,
    drainingSinceMs: draining ? (before?.drainingSinceMs ?? nowMs) : undefined,
  };
}

function remainingWaitMs(
  times: LeavingTimes | undefined,
  replaced: Replacement,
  maxWaitMs: number,
  nowMs: number,
): number {
  const { sinceMs = nowMs, replacedSinceMs } = times ?? {};
  const remainingMs = sinceMs + maxWaitMs - nowMs;
  if (replaced === 'healthy') return 0;
  return replacedSinceMs === undefined ? remainingMs : Math.min(remainingMs, replacedSinceMs + settleMs - nowMs);
}

/** Whether the staying members take connections here: `healthy` and `unhealthy` = as the cloud reports. */
type Replacement = 'no' | 'unhealthy' | 'added' | 'healthy';

function replacement(
  set: Membership,
  staying: readonly DesiredMember[],
  { observed = noMembers, trafficPolicy, refused }: MembersRequest,
  work: SharedWork,
): Replacement {
  const { added, healthy, isHealthKnown } =
    staying === set.members
      ? work.serving(set, observed)
      : servingAmong(set, observed, new Set(staying.map(({ providerID }) => instanceIn(set, providerID))));
  const refusals = refused ? staying.filter(({ providerID }) => refused.has(providerID)).length : 0;
  if (added === 0 || (trafficPolicy === 'Local' && added < staying.length - refusals)) return 'no';
  // With Local, only Nodes that run a pod are healthy, so one healthy member is enough.
  if (healthy) return 'healthy';
  return isHealthKnown ? 'unhealthy' : 'added';
}
