import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import { errorFields } from '../../common/process/log.ts';
import type { CloudRecord, LoadBalancerStep } from '../clouds/load-balancer-step.ts';
import type { LoadBalancerPlan } from '../clouds/load-balancers.ts';
import type { Permit } from '../clouds/permit.ts';
import { externalReferencesOf, isPaused, type ServiceView } from '../model/service-view.ts';
import { createPermit } from '../runtime/leader-permit.ts';
import type { Action } from './action.ts';
import type { ConditionReporter } from './condition-reporter.ts';
import { refOf } from './desired.ts';
import { mayHaveCreated } from './failures.ts';
import type { KubeCalls } from './kube-calls.ts';
import { answered } from './observation.ts';
import type { ReconcilerOptions } from './reconciler-options.ts';
import { refusedAll, refuseMembers, refusesAll } from './refused-members.ts';
import type { ServiceContext } from './service-context.ts';
import type { ServiceWork } from './service-work.ts';
import { type Situation, storedRecord } from './situation.ts';

/** How long a load balancer must be missing where no Ready Node can prove the visibility of the credential. */
const unprovedMs = 300_000;
const unprovedRetryMs = 60_000;

export interface CloudCallParts {
  readonly reporter: Pick<ConditionReporter, 'emit'>;
  readonly work: Pick<ServiceWork, 'begin'>;
  readonly kube: Pick<KubeCalls, 'save'>;
}

/**
 * The calls to a cloud for one Service, which note their answers in its state. All throw a CloudError; `apply` also a
 * WithheldError.
 */
export interface CloudCalls {
  observe(situation: Situation, signal: AbortSignal): Promise<void>;
  /** Carries out a plan. Members that the cloud refuses are noted, and are no failure unless it refuses all. */
  apply(
    situation: Situation,
    plan: LoadBalancerPlan,
    options: { readonly gone: boolean; readonly signal: AbortSignal },
  ): Promise<void>;
  /** The error of a Service whose actions do not come to an end, so that no answer causes a busy loop. */
  noEnd(situation: Situation, action: Action): CloudError;
}

export function createCloudCalls(
  context: ServiceContext,
  { cluster, adopts, states, observations }: ReconcilerOptions,
  { reporter, work, kube }: CloudCallParts,
): CloudCalls {
  const { clock, log, services, metrics } = context;

  async function observe(situation: Situation, signal: AbortSignal): Promise<void> {
    const { service, cloud, observation: before } = situation;
    const record = storedRecord(service);
    let missingSinceMs = before?.missingSinceMs;
    let unproved: CloudError | undefined;
    let answer = await read();
    // The credential may have gained its rights after the read: a load balancer counts as missing after two reads, each
    // followed by a check of the visibility.
    for (let reads = 0; reads < 2 && record !== undefined && !answer.isOurs; reads += 1) {
      if (reads > 0) answer = await read();
      unproved = answer.isOurs ? undefined : await whyUnproved(situation, answer.atMs, missingSinceMs ?? answer.atMs);
      if (unproved) break;
    }

    async function read() {
      const atMs = clock.monotonic();
      const removing = situation.intent !== 'ensure' && situation.retention.kind !== 'granted';
      const ref = { ...refOf(cluster, service, adopts), removing };
      const observed = await cloud.loadBalancers.observe(ref, signal);
      const isOurs = observed?.owner?.service === service.uid;
      missingSinceMs = isOurs ? undefined : (missingSinceMs ?? atMs);
      return { observed, isOurs, atMs };
    }

    observations.put(cloud.scope, service.uid, {
      observed: answer.observed,
      source: 'read',
      atMs: answer.atMs,
      readId: record?.id,
      readReferences: externalReferencesOf(service),
      missingSinceMs,
      fresh: unproved === undefined,
    });
    if (unproved) throw unproved;
  }

  /**
   * A recorded load balancer that was not found is gone only if the credential can see an instance that certainly
   * exists. Otherwise it would be created twice, or left behind.
   */
  async function whyUnproved(
    { cloud }: Situation,
    atMs: number,
    missingSinceMs: number,
  ): Promise<CloudError | undefined> {
    const visibility = await context.checkVisibility(cloud.scope, atMs);
    if (visibility === 'visible') return undefined;
    if (visibility === 'unproved' && atMs - missingSinceMs >= unprovedMs) return undefined;
    const about = { cloud: cloud.name, operation: 'read its load balancer' };
    if (visibility === 'not visible') {
      const message =
        'not found, and the instances of Ready Nodes are not visible either: is the credential of another project?';
      return new CloudError({ ...about, kind: 'Forbidden', message });
    }
    const message = 'not found, and there is no Ready Node whose instance could show that the credential sees anything';
    return new CloudError({ ...about, kind: 'Unavailable', message, retryAfterMs: unprovedRetryMs });
  }

  /** @param gone the Service no longer exists, so it cannot be paused */
  function permitFor(service: ServiceView, gone: boolean): Permit {
    return createPermit({
      fence: context.fence,
      paused: () => {
        const now = gone ? undefined : services.get(service.key);
        return context.paused() || (now?.uid === service.uid && isPaused(now) && `${service.key} is paused`);
      },
    });
  }

  async function apply(
    situation: Situation,
    plan: LoadBalancerPlan,
    { gone, signal }: { readonly gone: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const { service, cloud, observation, intent } = situation;
    const { scope, loadBalancers } = cloud;
    const begins = work.begin(service, intent === 'ensure' ? 'ensure' : 'remove', situation.members);
    const creates = plan.steps.some(({ action }) => action === 'create');
    if (begins && creates && intent === 'ensure' && isMissing(situation))
      reporter.emit(service, 'LoadBalancerMissing', 'The load balancer was deleted in the cloud', 'Warning');
    const permit = permitFor(service, gone);
    const atMs = clock.monotonic();
    const onStep = ({ action, resource, summary, target }: LoadBalancerStep, isAccepted: boolean) => {
      if (isAccepted) states.of(service.uid).waitingSinceMs = undefined;
      metrics.steps.add({ action, resource: resource.replaceAll(' ', '_') });
      log.info('load balancer step', { service: service.key, step: summary, target });
    };
    const save = gone ? undefined : (record: CloudRecord) => kube.save(situation, record);
    try {
      const observed = await loadBalancers.apply(plan, { permit, signal, save, onStep });
      observations.put(scope, service.uid, answered(observed, atMs, observation?.readReferences));
    } catch (error) {
      observations.invalidate(scope, service.uid, { mayHaveCreated: mayHaveCreated(error) });
      if (!isCloudError(error) || error.subjects.length === 0) throw error;
      const { subjects, message } = error;
      const state = states.of(service.uid);
      const answer = { subjects, members: situation.members, why: message };
      const refused = refuseMembers(state.refusedMembers, answer, clock.monotonic());
      if (refused === undefined) throw error;
      // What the cloud said about them may be out of date.
      state.podIds = undefined;
      const { members, active = 0 } = situation;
      const stands = (observation?.observed?.members.length ?? 0) > 0;
      // Where all Nodes are gone, their instances are, too.
      if (stands && active > 0 && refusesAll(refused, members)) throw refusedAll(error);
      state.refusedMembers = refused;
      log.warn('the cloud refuses members', { service: service.key, subjects, ...errorFields(error) });
    }
  }

  /** Whether a read has not found the recorded load balancer. */
  function isMissing({ service, observation }: Situation): boolean {
    const isRead = observation?.source === 'read' && observation.observed?.id === undefined;
    return isRead && storedRecord(service)?.id !== undefined;
  }

  function noEnd({ service, cloud }: Situation, action: Action): CloudError {
    observations.invalidate(cloud.scope, service.uid, { mayHaveCreated: true });
    return new CloudError({
      kind: 'Conflict',
      cloud: cloud.name,
      operation: action.do === 'apply' ? (action.plan.steps[0]?.summary ?? 'apply') : action.do,
      message: 'the cloud accepted the change and does not show it',
    });
  }

  return { observe, apply, noEnd };
}
