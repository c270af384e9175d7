import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { LoadBalancerStep } from '../clouds/load-balancer-step.ts';
import type { DesiredMember, LoadBalancerPlan, ObservedLoadBalancer, Refusal } from '../clouds/load-balancers.ts';
import { attachTo, externalReferencesOf, hasFinalizer, type ServiceView } from '../model/service-view.ts';
import { addressesOf, type ClusterIdentity, desiredOf, unknownAnnotations } from './desired.ts';
import type { Known } from './observation.ts';
import type { OperatorPolicy } from './operator-policy.ts';
import { type LoadBalancerReason, statusOf } from './reasons.ts';
import { type LoadBalancerRecord, parseRecord, printRecord } from './record.ts';
import type { RefusedMember } from './refused-members.ts';
import type { Retention } from './retention.ts';
import { ingressOf, type ServiceChange, type Standing } from './service-patches.ts';
import type { Demand, ServingCloud } from './wants.ts';

/** Everything that the next action depends on. */
export interface Situation {
  readonly service: ServiceView;
  readonly demand: Demand;
  readonly cloud: ServingCloud;
  readonly cluster: ClusterIdentity;
  /** Undefined = nothing has been read yet. */
  readonly known: Known | undefined;
  readonly members: readonly DesiredMember[];
  /** Nodes that the cloud refuses as members; they are not in `members`. */
  readonly refused: readonly RefusedMember[];
  /** How many of `members` stay although their Nodes vanished. */
  readonly withheld?: number | undefined;
  readonly policy: OperatorPolicy;
  /** Whether its load balancer outlives the Service. */
  readonly retention: Retention;
  /** `--adopt`. */
  readonly adopts?: boolean;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
}

/**
 * The one thing to do next.
 *
 * - `observe`: ask the cloud for what this Service has
 * - `write`: a change of the Service without which the cloud may not be called
 * - `apply`: the one next mutating call
 * - `settle`: nothing more to do now: show where it stands; after `againInMs` observe again
 * - `release`: proved gone: the finalizer goes, with everything else of ours
 */
export type Action =
  | { readonly do: 'observe' }
  | {
      readonly do: 'write';
      readonly change: ServiceChange;
      readonly what: string;
      /** This is the very first claim: nothing can have been made for this Service yet. */
      readonly first: boolean;
    }
  | {
      readonly do: 'apply';
      readonly step: LoadBalancerStep;
      /** All steps as planned now; only the first is certain. */
      readonly steps: readonly LoadBalancerStep[];
    }
  | {
      readonly do: 'settle';
      readonly change: ServiceChange;
      readonly standing: Standing;
      readonly againInMs: number | undefined;
    }
  | { readonly do: 'release'; readonly change: ServiceChange }
  | { readonly do: 'nothing' };

/** How soon an address that has not come is looked for again. */
const addressRetryMs = 15_000;
/** How soon a foreign thing in the way is looked at again. */
const refusedRetryMs = 300_000;
/** What was read longer ago proves nothing. */
const maxProofAgeMs = 60_000;
const unseen = { reason: 'Provisioning', message: 'what an earlier try may have made does not show yet' };
const ensured = 'the load balancer is as the Service asks';
// Without a number, which would have every Service written each time that it changes.
const withheldMembers = 'members whose Nodes vanished unexplained stay until --member-removal-budget has room for them';

/** Decides; changes nothing. Pure. */
export function nextAction(situation: Situation): Action {
  switch (situation.demand) {
    case 'none':
      return { do: 'nothing' };
    case 'ensure':
      return ensureAction(situation);
    default:
      return removeAction(situation);
  }
}

/** Ours by the tags, or with parts of ours: names and records prove nothing. */
function isOurs({ cluster, service }: Situation, observed: ObservedLoadBalancer | undefined): boolean {
  return observed?.owner?.cluster === cluster.uid && observed.owner.service === service.uid;
}

function settle(
  reason: LoadBalancerReason,
  message: string,
  more: { readonly change?: ServiceChange; readonly againInMs?: number | undefined } = {},
): Action {
  const standing = { reason, message };
  return { do: 'settle', standing, change: { ...more.change, standing }, againInMs: more.againInMs };
}

function ensureAction(situation: Situation): Action {
  const { service, cloud } = situation;
  const wanted = desiredOf(service, { ...situation, retain: situation.retention.kind === 'granted' });
  if (!wanted.ok) return settle(wanted.reason, wanted.message);
  const record = parseRecord(service.annotations[annotationKeys.loadBalancer]);
  if (record === undefined || !hasFinalizer(service)) return claimAction(situation, record);
  const { known } = situation;
  if (known === undefined || mustAsk(known, record, service)) return { do: 'observe' };
  const { observed } = known;
  const unseenMs = unseenForMs(situation, record, known);
  if (unseenMs > 0) {
    const { reason, message } = service.condition ?? unseen;
    return settle(reason as LoadBalancerReason, message, { againInMs: unseenMs });
  }
  if (wasTakenOver(situation, record)) return estranged(record);
  const plan = cloud.loadBalancers.plan(wanted.desired, observed);
  const change = recordChange(situation, record);
  const [step] = plan.steps;
  if (step === undefined) return settled(situation, plan, change);
  // The id first: should we die, the next one need not search.
  if (change.record !== undefined) return { do: 'write', change, what: 'its id', first: false };
  if (step.action === 'delete' && isOld(situation, known)) return { do: 'observe' };
  return { do: 'apply', step, steps: plan.steps };
}

/** Others may have come to use since what would be taken away: nothing is, by what a list of everything or an older answer says. */
function isOld({ nowMs }: Situation, { source, atMs }: Known): boolean {
  return source === 'all' || nowMs - atMs >= maxProofAgeMs;
}

/** The record as it should be, where it is not. */
function recordChange(situation: Situation, record: LoadBalancerRecord): ServiceChange {
  const { known } = situation;
  if (!isOurs(situation, known?.observed) || known?.observed?.id === undefined) return {};
  const { id, adopted = false, notes = record.notes } = known.observed;
  const isSame = id === record.id && notes === record.notes && adopted === (record.adopted !== undefined);
  if (isSame && record.scope === situation.cloud.scope) return {};
  return { record: recordOf(situation) };
}

/** As what is known of it would have it. */
function recordOf({ service, cloud, known }: Situation): string {
  const {
    id,
    adopted,
    notes = parseRecord(service.annotations[annotationKeys.loadBalancer])?.notes,
  } = known?.observed ?? {};
  return printRecord({
    ...{ scope: cloud.scope, id },
    ...(adopted && { adopted: addressesOf(service) }),
    ...(notes !== undefined && { notes }),
  });
}

/** What was taken over is there, and is not what it was then: it may be somebody else's by now. */
function wasTakenOver(situation: Situation, { adopted }: LoadBalancerRecord): boolean {
  const observed = situation.known?.observed;
  return adopted !== undefined && observed !== undefined && !isOurs(situation, observed);
}

function estranged({ id }: LoadBalancerRecord): Action {
  const message = `load balancer ${id} was taken over, and its name, tags and address are not those any more that proved it to be of this Service`;
  return settle('AdoptionRequired', message, { againInMs: refusedRetryMs });
}

/** For how long a search may still miss what a try whose end nobody saw has made; 0 = not any more. */
function unseenForMs({ cloud, nowMs }: Situation, { id }: LoadBalancerRecord, known: Known): number {
  if (id !== undefined || known.source !== 'asked' || known.observed !== undefined) return 0;
  const settledAtMs = (known.missingSinceMs ?? nowMs) + cloud.loadBalancers.settleMs;
  return known.atMs >= settledAtMs ? 0 : Math.max(settledAtMs - nowMs, 1);
}

/** A search that missed what is recorded proves nothing, and one for what is ours does not find what else the Service names. */
function mustAsk(known: Known, record: LoadBalancerRecord, service: ServiceView): boolean {
  if (!known.fresh) return true;
  const { observed } = known;
  const wish = externalReferencesOf(service);
  if (wish !== undefined && known.askedFor !== wish && !hasWish(observed, service)) return true;
  if (known.source === 'all' && record.id !== observed?.id) return true;
  if (observed !== undefined) return false;
  if (known.source === 'asked') return record.id !== undefined && known.askedId !== record.id;
  return known.source === 'all';
}

function hasWish(observed: ObservedLoadBalancer | undefined, service: ServiceView): boolean {
  const attach = attachTo(service);
  const { loadBalancerIP: ip } = service;
  if (observed === undefined || (attach !== undefined && !(observed.attached && observed.id === attach))) return false;
  return ip === '' || observed.ingress.some((one) => one.ip === ip);
}

function claimAction(situation: Situation, record: LoadBalancerRecord | undefined): Action {
  const { service, cloud, known } = situation;
  const claim = (text: string, first: boolean): Action => ({
    do: 'write',
    what: 'finalizer and record',
    first,
    change: {
      finalizer: 'add',
      record: text,
      ...(service.condition?.status === 'True' || known?.observed?.adopted
        ? {}
        : { standing: { reason: 'Provisioning', message: 'the load balancer is being made' } }),
    },
  });
  if (record !== undefined) return claim(printRecord(record), false);
  const shows = hasFinalizer(service) || service.ingress.length > 0;
  if (known === undefined || (shows && (!known.fresh || known.source === 'all'))) return { do: 'observe' };
  if (isOurs(situation, known.observed)) return claim(recordOf(situation), false);
  if (!shows || attachTo(service) !== undefined)
    return claim(
      printRecord({ scope: cloud.scope, id: undefined }),
      !shows && externalReferencesOf(service) === undefined,
    );
  const what = hasFinalizer(service) ? `the finalizer of another controller` : 'an address';
  return settle(
    'AdoptionRequired',
    `it shows ${what}, and there is no load balancer of ours for it in ${cloud.scope}; ${howToAdopt(situation)}`,
  );
}

function howToAdopt({ service, adopts = false }: Situation): string {
  const shown = addressesOf(service);
  if (shown.length === 0) return 'without an address in its status nothing can be taken over';
  if (!hasFinalizer(service)) return 'without the cleanup finalizer nothing is taken over';
  if (adopts)
    return `what has the address ${shown.join(', ')} does not carry the name and tags that its controller would have given`;
  return 'run with --adopt to take over the one that the classic controller of this cloud made';
}

function settled(situation: Situation, plan: LoadBalancerPlan, change: ServiceChange): Action {
  const { service, known, refused, members, retention, withheld = 0 } = situation;
  const observed = known?.observed;
  const shown = observed && isOurs(situation, observed) ? observed.ingress : [];
  const faults = portFaults(plan.refusals);
  const all: ServiceChange = shown.length > 0 ? { ...change, ingress: ingressOf(service, shown, faults) } : change;
  const notes: Standing[] = plan.refusals.filter(({ reason }) => statusOf(reason) === 'True');
  if ('message' in retention) notes.push({ reason: 'RetentionNotAllowed', message: retention.message });
  const remarks = [...notes.map(({ message }) => message), ...remarksOf(situation, plan)];
  const refusals = plan.refusals.filter(({ reason }) => statusOf(reason) === 'False');
  const [refusal] = refusals;
  if (refusal !== undefined) {
    const message = [...refusals.map((each) => each.message), ...remarks].join('; ');
    // Others may take away what stands in the way, make what the Service names, or give consent, without a word to us.
    const mayPass =
      externalReferencesOf(service) !== undefined ||
      refusals.some(({ reason }) => reason === 'ForeignLoadBalancer' || reason === 'Conflict');
    const againInMs = plan.waitMs ?? (mayPass ? refusedRetryMs : undefined);
    return settle(refusal.reason, message, { change: all, againInMs });
  }
  if (plan.waitMs !== undefined || shown.length === 0) {
    const againInMs = plan.waitMs ?? addressRetryMs;
    // What serves already goes on serving; one change of a member shall not cost two writes of a Service.
    if (service.condition?.status === 'True' && shown.length > 0) {
      const { reason, message } = service.condition;
      return settle(reason as LoadBalancerReason, message, { change: all, againInMs });
    }
    const message = shown.length === 0 ? 'the load balancer has no address yet' : 'the cloud is at work on it';
    return settle('Provisioning', message, { change: all, againInMs });
  }
  if (members.length === 0 && refused.length === 0)
    return settle('NoMembers', ['no Node may serve this Service', ...remarks].join('; '), { change: all });
  if (refused.length > 0) {
    return settle('MembersRefused', [refusedText(refused), ...remarks].join('; '), { change: all });
  }
  if (withheld > 0) return settle('MemberRemovalWithheld', [withheldMembers, ...remarks].join('; '), { change: all });
  const [note] = notes;
  if (note !== undefined) return settle(note.reason, remarks.join('; '), { change: all });
  return settle('Ensured', [ensured, ...remarks].join('; '), { change: all });
}

/** What people shall know although nothing waits for it. */
function remarksOf({ service, cloud }: Situation, { remarks = [] }: LoadBalancerPlan): readonly string[] {
  const unknown = unknownAnnotations(service, cloud);
  if (unknown.length === 0) return remarks;
  return [...remarks, `annotations without a meaning here: ${unknown.join(', ')}`];
}

/** Names and reasons, each reason once. */
function refusedText(refused: readonly RefusedMember[]): string {
  const names = refused.map(({ node }) => node).sort();
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  const reasons = [...new Set(refused.map(({ why }) => why))].slice(0, 2).map((why) => why.slice(0, 300));
  return `the cloud refuses as members: ${names.slice(0, 5).join(', ')}${more}; ${reasons.join('; ')}`;
}

/** Ports that are not served, for the status; a refusal that names none concerns no port alone. */
function portFaults(refusals: readonly Refusal[]): ReadonlyMap<string, string> {
  const faults = new Map<string, string>();
  for (const refusal of refusals) {
    for (const { protocol, port } of refusal.ports ?? [])
      faults.set(`${protocol}/${port}`, `mooring.dev/${refusal.reason}`);
  }
  return faults;
}

function removeAction(situation: Situation): Action {
  const { service, cloud, known, nowMs, retention } = situation;
  const record = parseRecord(service.annotations[annotationKeys.loadBalancer]);
  if (record === undefined) return unrecordedRemoval(situation);
  if (known === undefined || !known.fresh) return { do: 'observe' };
  const { observed } = known;
  if (wasTakenOver(situation, record)) return known.source === 'asked' ? estranged(record) : { do: 'observe' };
  const asked = known.source === 'asked' && nowMs - known.atMs < maxProofAgeMs;
  if (observed !== undefined && isOurs(situation, observed)) {
    if (retention.kind === 'full')
      return settle('RetentionLimitReached', retention.message, { againInMs: refusedRetryMs });
    const plan = cloud.loadBalancers.planRemoval(observed, { retain: retention.kind === 'granted' });
    const [step] = plan.steps;
    if (step !== undefined)
      return isOld(situation, known) ? { do: 'observe' } : { do: 'apply', step, steps: plan.steps };
    const left = plan.refusals.filter(({ reason }) => reason === 'Conflict' || reason === 'NoEffect');
    const [refusal] = left;
    if (refusal !== undefined) {
      const message = left.map((each) => each.message).join('; ');
      return settle(refusal.reason, message, { againInMs: plan.waitMs ?? refusedRetryMs });
    }
    if (plan.waitMs !== undefined)
      return settle('Deleting', 'the cloud is at work on its removal', { againInMs: plan.waitMs });
    // Nothing of ours is left, says an answer that may be old: ask for this very one.
    return asked ? release(situation) : { do: 'observe' };
  }
  if (!asked) return { do: 'observe' };
  if (record.id !== undefined) return known.askedId === record.id ? release(situation) : { do: 'observe' };
  // Without an id only searches can tell.
  const againInMs = unseenForMs(situation, record, { ...known, observed: undefined });
  if (againInMs === 0) return release(situation);
  return settle('Deleting', 'the cloud is asked again, since it may show new things late', { againInMs });
}

function unrecordedRemoval(situation: Situation): Action {
  const { service, cloud, known } = situation;
  if (known === undefined || !known.fresh || (known.observed === undefined && known.source === 'all'))
    return { do: 'observe' };
  if (isOurs(situation, known.observed)) {
    const change = { record: recordOf(situation) };
    return { do: 'write', change, what: 'its record', first: false };
  }
  if (service.type !== 'LoadBalancer') return { do: 'nothing' };
  const message = `it carries the finalizer of another controller, and there is no load balancer of ours for it in ${cloud.scope}; ${howToAdopt(situation)}`;
  return settle('AdoptionRequired', message);
}

function release({ service, demand }: Situation): Action {
  const ours: ServiceChange = { record: null, standing: null };
  if (demand === 'disown') return { do: 'release', change: ours };
  return {
    do: 'release',
    change: { ...ours, finalizer: 'remove', ...(service.type === 'LoadBalancer' ? { ingress: [] } : {}) },
  };
}
