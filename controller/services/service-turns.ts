import type { LoadBalancerPlan } from '../clouds/load-balancers.ts';
import { attachTo, isPaused, type ServiceView } from '../model/service-view.ts';
import { type Action, patienceMs } from './action.ts';
import type { CloudCalls } from './cloud-calls.ts';
import type { ConditionReporter } from './condition-reporter.ts';
import { unrecordedIn } from './gone-services.ts';
import { intentOf } from './intent.ts';
import type { KubeCalls } from './kube-calls.ts';
import { nextAction } from './next-action.ts';
import { neverCreated } from './observation.ts';
import { type PodMembers, podMembersOf, takesPods } from './pods/pod-members.ts';
import type { LoadBalancerReason } from './reasons.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import type { Retentions } from './retention.ts';
import type { ScopeAudits } from './scope-audits.ts';
import type { ServiceContext } from './service-context.ts';
import { type LoadBalancerCondition, type ServiceChange, sameIngress } from './service-patches.ts';
import type { ServiceWork } from './service-work.ts';
import { chooseCloud, type ServingCloud } from './serving-cloud.ts';
import { showAddresses } from './shown-addresses.ts';
import type { Situation } from './situation.ts';
import type { SituationReader } from './situation-reader.ts';

/** A Service to work on. */
export interface Subject {
  /** It no longer exists. */
  readonly gone: boolean;
  /** Its newest version; undefined when nothing is left to do for it. */
  now(): ServiceView | undefined;
}

/** How a turn ended: `again` = decide again at once; `rest` = until an event, or for `afterMs`. */
export type Turn = { readonly kind: 'again' } | { readonly kind: 'rest'; readonly afterMs: number | undefined };

/** Turns that were taken for one Service in a row. */
export interface Pass {
  turns: number;
  /** The steps that were applied last, as text. */
  applied: string | undefined;
}

/** One action for one Service. */
export interface ServiceTurns {
  /** Decides on the one next action and performs it. Throws a CloudError, KubeError or WithheldError. */
  take(subject: Subject, service: ServiceView, pass: Pass, signal: AbortSignal): Promise<Turn>;
  /** Writes a condition and the change with it, where they differ. Throws a KubeError. */
  show(service: ServiceView, change: ServiceChange, condition: LoadBalancerCondition): Promise<Turn>;
}

export interface ServiceTurnParts {
  readonly situationOf: SituationReader;
  readonly kube: KubeCalls;
  readonly calls: CloudCalls;
  readonly audits: Pick<ScopeAudits, 'failure' | 'countRetained'>;
  readonly reporter: Pick<ConditionReporter, 'note'>;
  readonly work: ServiceWork;
  readonly retentions: Pick<Retentions, 'ended'>;
}

/** The next try for a Service that the cache shows and the API server does not. */
const unconfirmedAgainMs = 30_000;

/** How long the first read of all EndpointSlices may take without a word. */
const slicesReadMs = 10_000;

/** A Service needs fewer than ten. */
const maxTurns = 20;

/** Reasons with which the work is done. */
const complete: ReadonlySet<LoadBalancerReason> = new Set([
  'Ensured',
  'MembersRefused',
  'MemberRemovalWithheld',
  'RetentionNotAllowed',
  'ClusterWideConsent',
  'NoMembers',
]);

/** Notes a turn. False where the same steps repeat, or the actions do not come to an end. */
function noteTurn(pass: Pass, action: Action): boolean {
  const steps = action.do === 'apply' ? JSON.stringify(action.plan.steps) : undefined;
  const isRepeated = steps !== undefined && steps === pass.applied;
  pass.applied = steps ?? pass.applied;
  pass.turns += 1;
  return !isRepeated && pass.turns <= maxTurns;
}

function classNotServed({ loadBalancerClass }: ServiceView): string {
  return (
    `its load balancer stays as it is, and its members do too: --load-balancer-class does not name its class ` +
    `${loadBalancerClass} any more; it goes when the Service is deleted or gets another type`
  );
}

const again: Turn = { kind: 'again' };
const isCreating = ({ steps }: LoadBalancerPlan) => steps.some(({ action }) => action === 'create');
const rest = (afterMs?: number | undefined): Turn => ({ kind: 'rest', afterMs });

export function createServiceTurns(
  context: ServiceContext,
  options: ReconcilerOptions,
  parts: ServiceTurnParts,
): ServiceTurns {
  const { clock, log, clouds } = context;
  const { states, observations } = options;
  const { situationOf, kube, calls, audits, reporter, work, retentions } = parts;

  async function take(subject: Subject, service: ServiceView, pass: Pass, signal: AbortSignal): Promise<Turn> {
    const unrecorded = subject.gone ? undefined : unrecordedIn(service, clouds, observations);
    const isMarked = unrecorded !== undefined;
    const intent = subject.gone ? 'remove' : intentOf(service, options.loadBalancerClasses, isMarked);
    if (intent === 'none') {
      // It told of the load balancer that the Service no longer asks for.
      const isOver = service.type !== 'LoadBalancer';
      if (isOver && (await kube.show(service, { condition: null })) === 'changed') return again;
      states.forget(service.uid);
      return rest();
    }
    if (intent === 'keep') {
      const condition = { reason: 'ClassNotServed', message: classNotServed(service) } as const;
      return show(service, { condition }, condition);
    }
    const choice = intent !== 'ensure' && isMarked ? { cloud: unrecorded } : chooseCloud(service, clouds);
    if ('reason' in choice) {
      if (!subject.gone) await show(service, { condition: choice }, choice);
      return rest();
    }
    const { cloud } = choice;
    // It is enqueued again once everything of the scope has been read.
    if (!observations.ready(cloud.scope)) return awaitRead(subject, service, cloud);
    const ofPods = intent === 'ensure' && takesPods(service, cloud);
    const pods = ofPods ? await podsOf(service, cloud, signal) : undefined;
    if (pods !== undefined && 'waitedMs' in pods) return awaitEndpoints(service, pods.waitedMs);
    const { situation, againInMs, readAgain } = situationOf(service, intent, cloud, subject.gone, pods);
    const action = nextAction(situation);
    if (!noteTurn(pass, action)) throw calls.noEnd(situation, action);
    const end = await perform(subject, situation, action, signal);
    if (end.kind === 'rest' && readAgain) observations.invalidate(cloud.scope, service.uid);
    return end.kind === 'again' || againInMs === undefined
      ? end
      : rest(Math.min(againInMs, end.afterMs ?? Number.POSITIVE_INFINITY));
  }

  async function awaitRead(subject: Subject, service: ServiceView, { scope }: ServingCloud): Promise<Turn> {
    const condition = audits.failure(scope);
    if (condition === undefined || subject.gone) return rest();
    const state = states.of(service.uid);
    state.waitingSinceMs ??= clock.monotonic();
    const leftMs = state.waitingSinceMs + patienceMs - clock.monotonic();
    if (service.condition?.status === 'True' && leftMs > 0) return rest(leftMs);
    return show(service, { condition }, condition);
  }

  async function podsOf(
    service: ServiceView,
    cloud: ServingCloud,
    signal: AbortSignal,
  ): Promise<PodMembers | { readonly waitedMs: number }> {
    const answer = context.pods.slicesOf(service.key);
    if ('waitedMs' in answer) return answer;
    const state = states.of(service.uid);
    const question = { service, cloud, slices: answer.slices, ids: state.podIds, nowMs: clock.monotonic() };
    const pods = await podMembersOf(question, signal);
    state.podIds = pods.ids;
    return pods;
  }

  /** It is enqueued again once they have been read. */
  async function awaitEndpoints(service: ServiceView, waitedMs: number): Promise<Turn> {
    if (waitedMs < slicesReadMs) return rest(slicesReadMs - waitedMs);
    const condition = { reason: 'AwaitingEndpoints', message: 'EndpointSlices have not been read yet' } as const;
    return show(service, { condition }, condition);
  }

  async function perform(subject: Subject, situation: Situation, action: Action, signal: AbortSignal): Promise<Turn> {
    const { service, intent, cloud } = situation;
    switch (action.do) {
      case 'nothing':
        return rest(action.againInMs);
      case 'observe':
        await calls.observe(situation, signal);
        return again;
      case 'write': {
        if (subject.gone) throw new Error(`${service.key} is gone and cannot be written`);
        if (intent === 'ensure') work.begin(service, 'ensure', situation.members);
        const ended = await kube.record(situation, action.change);
        // The cache will show that it is gone.
        if (ended === 'gone') return rest();
        if (ended === 'written' && action.first)
          observations.put(cloud.scope, service.uid, neverCreated(clock.monotonic()));
        return again;
      }
      case 'apply':
        if (!subject.gone && isCreating(action.plan) && !(await kube.confirm(service))) return rest(unconfirmedAgainMs);
        await calls.apply(situation, action.plan, { gone: subject.gone, signal });
        return again;
      case 'settle':
        return settle(subject, situation, action);
      case 'release':
        return release(subject, situation, action.change);
    }
  }

  async function settle(subject: Subject, situation: Situation, action: Action & { do: 'settle' }) {
    const { service, cloud, members, observation } = situation;
    const { change, condition, againInMs, waits } = action;
    if (againInMs !== undefined) observations.invalidate(cloud.scope, service.uid);
    if (subject.gone) {
      reporter.note(service, condition, { as: 'DeleteLoadBalancerFailed' });
      return rest(againInMs);
    }
    const state = states.of(service.uid);
    state.waitingSinceMs = waits ? (state.waitingSinceMs ?? clock.monotonic()) : undefined;
    const shown = showAddresses(state.shown, service.ingress, { change, condition }, clock.monotonic());
    const turn = await show(service, shown.change, shown.condition);
    if (turn.kind === 'again') return turn;
    // No other client overwrites what the API server did not store as it was sent.
    const stored = state.written?.service ?? service;
    if (shown.addresses && sameIngress(stored.ingress, shown.addresses.ingress)) state.shown = shown.addresses;
    if (againInMs === undefined) state.backOff = undefined;
    if (againInMs === undefined && complete.has(condition.reason))
      work.ensured(service, members, observation?.observed);
    const times = [againInMs, shown.againInMs].filter((ms) => ms !== undefined);
    return rest(times.length === 0 ? undefined : Math.min(...times));
  }

  async function show(service: ServiceView, change: ServiceChange, condition: LoadBalancerCondition): Promise<Turn> {
    // It may have been paused during the call to the cloud.
    if (isPaused(service)) return rest();
    const ended = await kube.show(service, change);
    if (ended === 'gone') return rest();
    if (ended === 'changed') return again;
    reporter.note(service, condition);
    return rest();
  }

  async function release(subject: Subject, situation: Situation, change: ServiceChange): Promise<Turn> {
    const { service, cloud, observation } = situation;
    const { id } = observation?.observed ?? {};
    const isGiven = situation.retention.kind === 'granted' || attachTo(service) !== undefined;
    const unmarked = id && `load balancer ${id}, which carries no mark of this Service and stays`;
    if (subject.gone) states.setGone(service.uid, undefined);
    else if ((await kube.release(situation, change)) === 'changed') return again;
    // Of what stays without marks the Service was told when it was deleted; each audit finds its parts again.
    if (!subject.gone || isGiven || !unmarked) {
      log.info('load balancer gone', { service: service.key, uid: service.uid, scope: cloud.scope });
      work.removed(service, isGiven ? 'the load balancer, which stays' : unmarked);
    }
    retentions.ended(service);
    audits.countRetained();
    states.forget(service.uid);
    return rest();
  }

  return { take, show };
}
