import { isCloudError } from '../../common/cloud-error.ts';
import { errorFields } from '../../common/process/log.ts';
import { annotations } from '../../common/well-known.ts';
import type { CloudRecord } from '../clouds/load-balancer-step.ts';
import { WithheldError } from '../clouds/permit.ts';
import { isKubeError } from '../kube/api.ts';
import { attachTo, isPaused, type ServiceView } from '../model/service-view.ts';
import { backOffAfter, backOffLeftMs } from './back-off.ts';
import { createCloudCalls, type Done, nothingDone } from './cloud-calls.ts';
import { logPlan } from './dry-run.ts';
import { failureOf } from './failures.ts';
import { noteGone } from './gone-services.ts';
import { createKubeCalls } from './kube-calls.ts';
import { createLatestServices, type LatestServices } from './latest-services.ts';
import { type Action, nextAction, type Situation } from './next-action.ts';
import { neverCreated } from './observation.ts';
import type { LoadBalancerReason } from './reasons.ts';
import type { ReconcilerParts } from './reconciler-parts.ts';
import { parseRecord, printRecord } from './record.ts';
import { createRetentions } from './retention.ts';
import { createScopeAudits, type ScopeAudits } from './scope-audits.ts';
import type { ServiceContext } from './service-context.ts';
import type { ServiceChange, Standing } from './service-patches.ts';
import { createServiceWork } from './service-work.ts';
import { createSituationReader } from './situation-reader.ts';
import { createStandings } from './standings.ts';
import { chooseCloud, demandOf, type ServingCloud } from './wants.ts';

/** Keeps load balancers what their Services ask for: the one place that makes, changes and removes them. */
export interface ServiceReconciler {
  /**
   * Everything of one name: the Services that are gone, then the one that is there. One thing is done at a time and everything decided anew after it. Throws a
   * CloudError or KubeError to be tried again. Safe to repeat at any moment.
   */
  reconcile(key: string, signal: AbortSignal): Promise<{ readonly requeueAfterMs?: number } | undefined>;
  /** Takes note of a Service that is gone; answers whether there is anything to remove. */
  departed(service: ServiceView): boolean;
  /** To be told of each read of everything. */
  readonly audits: ScopeAudits;
  readonly latest: LatestServices;
}

/** How soon a Service is looked at again while everything is paused. */
const pausedAgainMs = 5000;
/** More than any plan has; then others get their turn first. */
const maxRounds = 100;
const nextTurnMs = 1000;
/** How soon a Service is looked at again of which the cache has yet to hear that it is gone. */
const unheardAgainMs = 30_000;

interface Subject {
  readonly gone: boolean;
  /** As it is now; undefined when there is nothing to do for it any more. */
  now(): ServiceView | undefined;
}

type Turn = { readonly kind: 'again' } | { readonly kind: 'rest'; readonly afterMs: number | undefined };

/** With these the work is done. */
const stands: ReadonlySet<LoadBalancerReason> = new Set([
  'Ensured',
  'MembersRefused',
  'MemberRemovalWithheld',
  'RetentionNotAllowed',
  'ClusterWideConsent',
  'NoMembers',
]);

const again: Turn = { kind: 'again' };
const rest = (afterMs?: number | undefined): Turn => ({ kind: 'rest', afterMs });

export function createServiceReconciler(context: ServiceContext, parts: ReconcilerParts): ServiceReconciler {
  const { clock, log, services, clouds, metrics } = context;
  const { cluster, states, observations, loadBalancerClasses } = parts;
  const latest = createLatestServices(services, clock, states);
  const standings = createStandings(states, context.events);
  const work = createServiceWork(clock, metrics, states, standings);
  const retentions = createRetentions(parts.policy, observations, () => clock.monotonic());
  const situationOf = createSituationReader(context, parts, retentions);
  const kube = createKubeCalls(context, { loadBalancerClasses, states, latest, standings });
  const calls = createCloudCalls(context, {
    ...{ cluster, adopts: parts.adopts, states, observations, standings, work, save },
  });
  const audits = createScopeAudits(context, parts, retentions);

  async function save({ service: planned, demand, cloud }: Situation, { id, notes }: CloudRecord): Promise<void> {
    const service = latest.get(planned.key);
    if (service?.uid !== planned.uid) throw new Error(`${planned.key} has changed meanwhile`);
    if (isPaused(service) || context.paused())
      throw new WithheldError('Paused', `not written: ${service.key} is paused`);
    const before = parseRecord(service.annotations[annotations.loadBalancer]) ?? { scope: cloud.scope, id: undefined };
    const record = printRecord({ ...before, id: id ?? before.id, notes });
    const ended = await kube.record({ service, demand }, { record });
    if (ended === 'gone' || ended === 'changed') throw new Error(`${service.key} has changed meanwhile`);
  }

  async function reconcile(key: string, signal: AbortSignal) {
    let failure: { readonly error: unknown } | undefined;
    const waits: number[] = [];
    const subjects: Subject[] = states
      .gone()
      .filter((service) => service.key === key)
      .map(({ uid }) => ({ gone: true, now: () => states.get(uid)?.gone }));
    subjects.push({ gone: false, now: () => latest.get(key) });
    for (const subject of subjects) {
      try {
        const afterMs = await workOn(subject, signal);
        if (afterMs !== undefined) waits.push(afterMs);
      } catch (error) {
        // A load balancer that cannot be removed shall not keep the next Service of that name waiting.
        failure ??= { error };
      }
    }
    if (failure) throw failure.error;
    return waits.length === 0 ? undefined : { requeueAfterMs: Math.min(...waits) };
  }

  async function workOn(subject: Subject, signal: AbortSignal): Promise<number | undefined> {
    let service: ServiceView | undefined;
    try {
      service = subject.now();
      const delayMs = service && backOffLeftMs(states.get(service.uid)?.backOff, service, clock.monotonic());
      if (delayMs) return delayMs;
      if (subject.gone && (await isBack(subject))) return undefined;
      const done = nothingDone();
      for (let round = 0; round < maxRounds && !signal.aborted; round += 1) {
        service = subject.now();
        if (service === undefined || isPaused(service)) return undefined;
        if (context.paused()) return pausedAgainMs;
        const turn = await takeTurn(subject, service, done, signal);
        if (turn.kind === 'rest') return turn.afterMs;
      }
      return nextTurnMs;
    } catch (error) {
      if (service === undefined) throw error;
      return failed(subject, service, error);
    }
  }

  /** A cache may err; what is removed cannot be had back. */
  async function isBack(subject: Subject): Promise<boolean> {
    const service = subject.now();
    if (service === undefined || !(await kube.has(service))) return false;
    log.warn('a Service that seemed gone is there', { service: service.key });
    states.setGone(service.uid, undefined);
    return true;
  }

  async function takeTurn(subject: Subject, service: ServiceView, done: Done, signal: AbortSignal): Promise<Turn> {
    const demand = subject.gone ? 'remove' : demandOf(service, parts.loadBalancerClasses);
    if (demand === 'none') {
      states.forget(service.uid);
      return rest();
    }
    const choice = chooseCloud(service, clouds);
    if ('reason' in choice) {
      if (!subject.gone) await show(service, { standing: choice }, choice);
      return rest();
    }
    const { cloud } = choice;
    // It comes again as soon as everything of the scope has been read.
    if (!observations.ready(cloud.scope)) return awaitRead(subject, service, cloud);
    const { situation, againInMs, lookAgain } = situationOf(service, demand, cloud, subject.gone);
    const action = nextAction(situation);
    if (context.dryRun && action.do !== 'observe' && action.do !== 'nothing') {
      const state = states.of(service.uid);
      state.loggedPlan = logPlan(log, situation, state.loggedPlan);
      return rest();
    }
    calls.checkProgress(situation, action, done);
    const turn = await perform(subject, situation, action, signal);
    if (turn.kind === 'rest' && lookAgain) observations.invalidate(cloud.scope, service.uid);
    return turn.kind === 'again' || againInMs === undefined
      ? turn
      : rest(Math.min(againInMs, turn.afterMs ?? Number.POSITIVE_INFINITY));
  }

  async function awaitRead(subject: Subject, service: ServiceView, { scope }: ServingCloud): Promise<Turn> {
    const standing = audits.failure(scope);
    // What is served goes on being served, and says so.
    if (standing !== undefined && !subject.gone && service.condition?.status !== 'True')
      await show(service, { standing }, standing);
    return rest();
  }

  async function perform(subject: Subject, situation: Situation, action: Action, signal: AbortSignal): Promise<Turn> {
    const { service, demand, cloud } = situation;
    switch (action.do) {
      case 'nothing':
        return rest();
      case 'observe':
        await calls.observe(situation, signal);
        return again;
      case 'write': {
        if (subject.gone) throw new Error(`${service.key} is gone and cannot be written`);
        if (demand === 'ensure') work.begin(service, 'ensure', situation.members);
        const ended = await kube.record(situation, action.change);
        // What is gone the cache will tell.
        if (ended === 'gone') return rest();
        if (ended === 'written' && action.first)
          observations.put(cloud.scope, service.uid, neverCreated(clock.monotonic()));
        return again;
      }
      case 'apply':
        if (
          action.steps.some((step) => step.action === 'create') &&
          !subject.gone &&
          !(await kube.hasSeenInstance(service))
        )
          return rest(unheardAgainMs);
        await calls.apply(situation, action.step, { gone: subject.gone, signal });
        return again;
      case 'settle':
        return settle(subject, situation, action);
      case 'release':
        return release(subject, situation, action.change);
    }
  }

  async function settle(subject: Subject, { service, cloud, members }: Situation, action: Action & { do: 'settle' }) {
    const { change, standing, againInMs } = action;
    if (againInMs !== undefined) observations.invalidate(cloud.scope, service.uid);
    if (subject.gone) return rest(againInMs);
    const turn = await show(service, change, standing);
    if (turn.kind === 'again') return turn;
    if (againInMs === undefined) {
      const state = states.of(service.uid);
      state.backOff = undefined;
      state.appliedSteps = undefined;
    }
    if (againInMs === undefined && stands.has(standing.reason)) work.ensured(service, members);
    return rest(againInMs);
  }

  /** Writes where it stands, if that is news. */
  async function show(service: ServiceView, change: ServiceChange, standing: Standing): Promise<Turn> {
    // It may have been paused while the cloud was asked.
    if (isPaused(service)) return rest();
    if (context.dryRun) {
      standings.note(service, standing, { quiet: true });
      return rest();
    }
    const ended = await kube.show(service, change);
    if (ended === 'gone') return rest();
    if (ended === 'changed') return again;
    standings.note(service, standing);
    return rest();
  }

  async function release(subject: Subject, situation: Situation, change: ServiceChange): Promise<Turn> {
    const { service, cloud, known } = situation;
    // What carries no mark of ours any more is not ours to remove.
    const stands = known?.observed?.id !== undefined;
    if (subject.gone) states.setGone(service.uid, undefined);
    else if ((await kube.release(situation, change)) === 'changed') return again;
    log.info('load balancer gone', { service: service.key, uid: service.uid, scope: cloud.scope });
    work.removed(service, stands || situation.retention.kind === 'granted' || attachTo(service) !== undefined);
    retentions.ended(service);
    audits.countRetained();
    states.forget(service.uid);
    return rest();
  }

  async function failed(subject: Subject, service: ServiceView, error: unknown): Promise<number> {
    const failure = failureOf(error);
    if (failure.kind === 'withheld') return failure.againInMs;
    work.failed(service);
    const retryAfterMs = isCloudError(error) || isKubeError(error) ? error.retryAfterMs : undefined;
    const state = states.of(service.uid);
    state.backOff = backOffAfter(state.backOff, service, retryAfterMs, clock.monotonic());
    const { failures } = state.backOff;
    const { standing } = failure;
    if (standing === undefined || (failure.patient && failures < 3)) throw error;
    if (subject.gone) standings.note(service, standing, { quiet: !failure.event, as: 'DeleteLoadBalancerFailed' });
    else {
      const condition = latest.get(service.key)?.condition;
      standings.note(service, standing, { quiet: !failure.event });
      // A message may differ at every try; it is written again ever more rarely.
      if (condition?.reason !== standing.reason || Number.isInteger(Math.log2(failures)))
        await show(latest.get(service.key) ?? service, { standing }, standing).catch((again: unknown) =>
          log.info('reason not written', { service: service.key, reason: standing.reason, ...errorFields(again) }),
        );
    }
    throw error;
  }

  function departed(service: ServiceView): boolean {
    const { uid } = service;
    const state = states.get(uid);
    const isReleased = state?.released ?? false;
    if (state !== undefined) Object.assign(state, { written: undefined, released: false });
    if (!isReleased && isPaused(service))
      log.warn('a paused Service is gone; what it had in the cloud stays', { service: service.key });
    else if (!isReleased && noteGone(states, service, heldFor(uid))) return true;
    states.forget(uid);
    return false;
  }

  function heldFor(uid: string) {
    for (const { scope } of clouds) {
      const observed = observations.of(scope, uid)?.observed;
      if (observed?.owner?.service === uid) return { scope, observed };
    }
    return undefined;
  }

  return { reconcile, departed, audits, latest };
}
