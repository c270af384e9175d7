import { isCloudError } from '../../common/cloud-error.ts';
import { errorFields } from '../../common/process/log.ts';
import { isKubeError } from '../kube/api.ts';
import { isPaused, type ServiceView } from '../model/service-view.ts';
import { backOffAfter, backOffLeftMs } from './back-off.ts';
import { createCloudCalls } from './cloud-calls.ts';
import { createConditionReporter } from './condition-reporter.ts';
import { failureOf } from './failures.ts';
import { heldFor, noteGone } from './gone-services.ts';
import { createKubeCalls } from './kube-calls.ts';
import { createLatestServices, type LatestServices } from './latest-services.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { createRetentions } from './retention.ts';
import { createScopeAudits, type ScopeAudits } from './scope-audits.ts';
import type { ServiceContext } from './service-context.ts';
import type { LoadBalancerCondition } from './service-patches.ts';
import { createServiceTurns, type Subject } from './service-turns.ts';
import { createServiceWork } from './service-work.ts';
import { createSituationReader } from './situation-reader.ts';

/** Creates, changes and deletes the load balancers of Services; nothing else does. */
export interface ServiceReconciler {
  /**
   * Reconciles all Services of one name: Services that are gone, then the one that exists. After each action it decides
   * again. Throws a CloudError or KubeError that is worth a retry. Safe to repeat at any moment.
   */
  reconcile(key: string, signal: AbortSignal): Promise<{ readonly requeueAfterMs?: number } | undefined>;
  /** Notes that a Service is gone. Returns whether anything of it may have to be removed. */
  departed(service: ServiceView): boolean;
  /** The desired members of this Service may have changed. */
  membersChanged(service: ServiceView): void;
  /** What follows from each complete read of a scope. */
  readonly audits: ScopeAudits;
  readonly latest: LatestServices;
}

/** When to try a Service again while everything is paused. */
const pausedAgainMs = 5000;

export function createServiceReconciler(context: ServiceContext, options: ReconcilerOptions): ServiceReconciler {
  const { clock, log, services, clouds, metrics } = context;
  const { states, observations } = options;
  const latest = createLatestServices(services, clock, states);
  const reporter = createConditionReporter(states, context.events);
  const work = createServiceWork(clock, metrics, states, reporter);
  const retentions = createRetentions(options.policy, observations, () => clock.monotonic());
  const situationOf = createSituationReader(context, options, retentions);
  const kube = createKubeCalls(context, options, { latest, reporter });
  const calls = createCloudCalls(context, options, { reporter, work, kube });
  const audits = createScopeAudits(context, options, retentions);
  const turns = createServiceTurns(context, options, { situationOf, kube, calls, audits, reporter, work, retentions });

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
        // A load balancer that cannot be removed must not delay the next Service of that name.
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
      const { backOff, membersChanged = false } = (service && states.get(service.uid)) ?? {};
      const delayMs = service && backOffLeftMs(backOff, service, membersChanged, clock.monotonic());
      if (delayMs) return delayMs;
      if (service && membersChanged) states.of(service.uid).membersChanged = false;
      if (subject.gone && (await stillExists(subject))) return undefined;
      const pass = { turns: 0, applied: undefined };
      while (!signal.aborted) {
        service = subject.now();
        if (service === undefined || isPaused(service)) return undefined;
        if (context.paused()) return pausedAgainMs;
        const end = await turns.take(subject, service, pass, signal);
        if (end.kind === 'rest') return end.afterMs;
      }
      return undefined;
    } catch (error) {
      if (service === undefined) throw error;
      return failed(subject, service, error);
    }
  }

  /** Asks the API server, because a cache may be wrong and a removed address cannot be recovered. */
  async function stillExists(subject: Subject): Promise<boolean> {
    const service = subject.now();
    if (service === undefined || !(await kube.has(service))) return false;
    log.warn('a Service that the cache lacked exists', { service: service.key });
    states.setGone(service.uid, undefined);
    return true;
  }

  async function failed(subject: Subject, service: ServiceView, error: unknown): Promise<number> {
    const failure = failureOf(error);
    if (failure.kind === 'withheld') return failure.againInMs;
    work.failed(service);
    const retryAfterMs = isCloudError(error) || isKubeError(error) ? error.retryAfterMs : undefined;
    const state = states.of(service.uid);
    // A step may fail for good while members still follow. A create never gets to them, and more tries of many Services
    // take what is left of a quota of calls.
    const isCloudFull = isCloudError(error) && (error.kind === 'Throttled' || error.kind === 'QuotaExceeded');
    const followsMembers = !isCloudFull && heldFor(service.uid, clouds, observations)?.observed.id !== undefined;
    state.backOff = backOffAfter(state.backOff, service, { retryAfterMs, followsMembers }, clock.monotonic());
    const { failures, isCorrection } = state.backOff;
    const { condition } = failure;
    const shownFrom = failure.patient ? 3 : 1;
    if (condition === undefined || failures < shownFrom) throw error;
    if (subject.gone) reporter.note(service, condition, { quiet: !failure.event, as: 'DeleteLoadBalancerFailed' });
    else {
      const shown = latest.get(service.key)?.condition;
      const isFirst = failures === shownFrom;
      reporter.note(service, condition, { quiet: !failure.event, again: isFirst && isCorrection });
      // The message may differ at every try, so it is written with growing intervals.
      const isNew = isFirst || shown?.reason !== condition.reason || Number.isInteger(Math.log2(failures));
      if (isNew) await tryToShow(latest.get(service.key) ?? service, condition);
    }
    throw error;
  }

  async function tryToShow(service: ServiceView, condition: LoadBalancerCondition): Promise<void> {
    const { reason } = condition;
    try {
      await turns.show(service, { condition }, condition);
    } catch (error) {
      log.warn('reason not written', { service: service.key, reason, ...errorFields(error) });
    }
  }

  function departed(service: ServiceView): boolean {
    const { uid } = service;
    const state = states.get(uid);
    const isReleased = state?.released ?? false;
    if (state !== undefined) Object.assign(state, { written: undefined, released: false });
    if (!isReleased && isPaused(service))
      log.warn('a paused Service is gone; its cloud resources stay', { service: service.key });
    else if (!isReleased && noteGone(states, service, heldFor(uid, clouds, observations))) return true;
    states.forget(uid);
    return false;
  }

  function membersChanged({ uid }: ServiceView): void {
    const state = states.get(uid);
    if (state) state.membersChanged = true;
  }

  return { reconcile, departed, membersChanged, audits, latest };
}
