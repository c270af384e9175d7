import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import { errorFields } from '../../common/process/log.ts';
import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { CloudRecord, LoadBalancerStep } from '../clouds/load-balancer-step.ts';
import { externalReferencesOf, isPaused } from '../model/service-view.ts';
import { createPermit } from '../runtime/leader-permit.ts';
import { stepWaitMs, withStep } from './applied-steps.ts';
import { type ClusterIdentity, refOf } from './desired.ts';
import { mayHaveMade } from './failures.ts';
import type { Action, Situation } from './next-action.ts';
import { answered } from './observation.ts';
import type { Observations } from './observations.ts';
import { parseRecord } from './record.ts';
import { refuseMembers } from './refused-members.ts';
import type { ServiceContext } from './service-context.ts';
import type { ServiceStates } from './service-state.ts';
import type { ServiceWork } from './service-work.ts';
import type { Standings } from './standings.ts';

/** Where nothing can prove that the cloud shows us anything, what is missing must be so for this long. */
const unprovedMs = 300_000;
const unprovedRetryMs = 60_000;

/** What has been done in a row for one Service. */
export interface Done {
  observed: number;
  /** The last step, as text. */
  step: string | undefined;
}

export function nothingDone(): Done {
  return { observed: 0, step: undefined };
}

export interface CloudCallParts {
  readonly cluster: ClusterIdentity;
  /** `--adopt`. */
  readonly adopts: boolean;
  readonly states: ServiceStates;
  readonly observations: Observations;
  readonly standings: Pick<Standings, 'emit'>;
  readonly work: Pick<ServiceWork, 'begin'>;
  /** Keeps with the Service what its cloud wants kept. Throws a KubeError, or where the Service has changed meanwhile. */
  save(situation: Situation, record: CloudRecord): Promise<void>;
}

/** The calls to a cloud for one Service, and what is known after each. All throw a CloudError; `apply` a WithheldError, too. */
export interface CloudCalls {
  observe(situation: Situation, signal: AbortSignal): Promise<void>;
  /** Makes the one call of a step. Members that the cloud refuses are noted and no failure. */
  apply(
    situation: Situation,
    step: LoadBalancerStep,
    options: { readonly gone: boolean; readonly signal: AbortSignal },
  ): Promise<void>;
  /** Whatever a cloud answers, nothing is done over and over without a pause: throws when the action was just done and does not show. */
  checkProgress(situation: Situation, action: Action, done: Done): void;
}

export function createCloudCalls(context: ServiceContext, parts: CloudCallParts): CloudCalls {
  const { clock, log, services, metrics } = context;
  const { cluster, adopts, states, observations, standings, work } = parts;

  async function observe(situation: Situation, signal: AbortSignal): Promise<void> {
    const { service, cloud, known: before } = situation;
    const askedId = recordedId(situation);
    const askedFor = externalReferencesOf(service);
    const recorded = parseRecord(service.annotations[annotationKeys.loadBalancer]) !== undefined;
    let missingSinceMs = before?.missingSinceMs;
    let blind: CloudError | undefined;
    let look = await ask();
    // A credential may have begun to see only after that: what it misses counts between two looks that prove its sight.
    for (let asked = 0; asked < 2 && recorded && !look.ours; asked += 1) {
      if (asked > 0) look = await ask();
      blind = look.ours ? undefined : await blindness(situation, look.atMs, missingSinceMs ?? look.atMs);
      if (blind) break;
    }
    const { observed, atMs } = look;

    async function ask() {
      const atMs = clock.monotonic();
      const observed = await cloud.loadBalancers.observe(refOf(cluster, service, adopts), signal);
      const ours = observed?.owner?.service === service.uid;
      missingSinceMs = ours ? undefined : (missingSinceMs ?? atMs);
      return { observed, ours, atMs };
    }

    observations.put(cloud.scope, service.uid, {
      observed,
      source: 'asked',
      askedId,
      askedFor,
      missingSinceMs,
      atMs,
      fresh: blind === undefined,
    });
    if (blind) throw blind;
  }

  /** What was recorded and does not show is gone only if the cloud shows what is certainly there; else it would be made twice, or left behind. */
  async function blindness(
    { cloud }: Situation,
    atMs: number,
    missingSinceMs: number,
  ): Promise<CloudError | undefined> {
    const sight = await context.proveSight(cloud.scope, atMs);
    if (sight === 'sees' || (sight === 'unproved' && atMs - missingSinceMs >= unprovedMs)) return undefined;
    const operation = 'look for its load balancer';
    if (sight === 'blind') {
      const message =
        'it does not show, but neither do the instances of living Nodes: the credential may be of another project';
      return new CloudError({ kind: 'Forbidden', cloud: cloud.name, operation, message });
    }
    const message = 'it does not show, and there is no living Node whose instance could tell whether anything would';
    return new CloudError({
      kind: 'Unavailable',
      cloud: cloud.name,
      operation,
      message,
      retryAfterMs: unprovedRetryMs,
    });
  }

  async function apply(
    situation: Situation,
    step: LoadBalancerStep,
    { gone, signal }: { readonly gone: boolean; readonly signal: AbortSignal },
  ): Promise<void> {
    const { service, cloud, known, demand } = situation;
    const { scope } = cloud;
    const begins = work.begin(service, demand === 'ensure' ? 'ensure' : 'remove', situation.members);
    if (begins && step.action === 'create' && demand === 'ensure' && isMissing(situation))
      standings.emit(service, 'LoadBalancerMissing', 'The load balancer was removed by somebody else', 'Warning');
    const permit = createPermit({
      fence: context.fence,
      dryRun: context.dryRun,
      paused: () => {
        const now = gone ? undefined : services.get(service.key);
        return context.paused() || (now?.uid === service.uid && isPaused(now) && `${service.key} is paused`);
      },
    });
    const atMs = clock.monotonic();
    const onStep = ({ action, resource, summary, target }: LoadBalancerStep) => {
      metrics.steps.add({ action, resource });
      log.info('load balancer step', { service: service.key, step: summary, target });
    };
    const save = gone ? undefined : (record: CloudRecord) => parts.save(situation, record);
    try {
      const observed = await cloud.loadBalancers.apply(step, known?.observed, { permit, signal, save, onStep });
      const state = states.of(service.uid);
      state.backOff = undefined;
      if (!cloud.loadBalancers.appliesAll?.(step)) {
        state.appliedSteps = withStep(state.appliedSteps, situation, JSON.stringify(step), clock.monotonic());
        onStep(step);
      }
      observations.put(scope, service.uid, answered(observed, atMs, known?.askedFor));
    } catch (error) {
      observations.invalidate(scope, service.uid, { mayHaveMade: mayHaveMade(error) });
      if (!isCloudError(error) || error.subjects.length === 0) throw error;
      const { subjects, message } = error;
      const state = states.of(service.uid);
      const answer = { subjects, members: situation.members, why: message };
      const refused = refuseMembers(state.refusedMembers, answer, clock.monotonic());
      if (refused === undefined) throw error;
      state.refusedMembers = refused;
      log.warn('the cloud refuses members', { service: service.key, subjects, ...errorFields(error) });
    }
  }

  function isMissing(situation: Situation): boolean {
    const { known } = situation;
    return recordedId(situation) !== undefined && known?.source === 'asked' && known.observed?.id === undefined;
  }

  function recordedId({ service }: Situation): string | undefined {
    return parseRecord(service.annotations[annotationKeys.loadBalancer])?.id;
  }

  function checkProgress(situation: Situation, action: Action, done: Done): void {
    done.observed = action.do === 'observe' ? done.observed + 1 : 0;
    const step = action.do === 'apply' ? JSON.stringify(action.step) : undefined;
    const applied = states.get(situation.service.uid)?.appliedSteps;
    const waitMs = step === undefined ? 0 : stepWaitMs(applied, situation, step, clock.monotonic());
    const repeats = step !== undefined && step === done.step;
    done.step = step ?? done.step;
    if (!repeats && waitMs === 0 && done.observed < 3) return;
    const { service, cloud } = situation;
    observations.invalidate(cloud.scope, service.uid, { mayHaveMade: true });
    throw new CloudError({
      kind: 'Conflict',
      cloud: cloud.name,
      operation: action.do === 'apply' ? action.step.summary : 'observe',
      message: 'what was done does not show',
      ...(waitMs > 0 && { retryAfterMs: waitMs }),
    });
  }

  return { observe, apply, checkProgress };
}
