import { errorFields } from '../../../common/process/log.ts';
import { annotations as annotationKeys } from '../../../common/well-known.ts';
import { externalReferencesOf, isPaused, type ServiceView } from '../../model/service-view.ts';
import type { CheckVisibility } from '../../services/credential-visibility.ts';
import { declareServices } from '../../services/declare-services.ts';
import { adoptableOf, annotationsFor, type ClusterIdentity, refOf } from '../../services/desired.ts';
import { intentOf } from '../../services/intent.ts';
import type { MemberSource } from '../../services/member-source.ts';
import type { Observation } from '../../services/observation.ts';
import { createObservations, type Observations } from '../../services/observations.ts';
import type { OperatorPolicy } from '../../services/operator-policy.ts';
import { parseRecord } from '../../services/record.ts';
import { createRetentions, type Retentions } from '../../services/retention.ts';
import { planService, type ServicePlan } from '../../services/service-plan.ts';
import { createServiceStates } from '../../services/service-state.ts';
import { chooseCloud, type ServingCloud } from '../../services/serving-cloud.ts';
import type { Situation } from '../../services/situation.ts';
import type { Plan, PlannedChange } from './planned-change.ts';

export interface ServicePlanParts {
  readonly cluster: ClusterIdentity;
  readonly services: Iterable<ServiceView>;
  readonly clouds: readonly ServingCloud[];
  readonly members: MemberSource;
  readonly loadBalancerClasses: readonly string[];
  readonly policy: OperatorPolicy;
  /** `--adopt`. */
  readonly adopts: boolean;
  readonly checkVisibility: CheckVisibility;
  /** Monotonic milliseconds. */
  now(): number;
}

/** Reasons that need no action. */
const quiet: ReadonlySet<string> = new Set(['Ensured', 'Provisioning', 'Deleting']);
/** One read per source: all load balancers, the one of this Service, and the resources that it refers to. */
const maxQuestions = 3;

/** Plans the steps of the service task for every Service and cloud. Reads the clouds; changes nothing. */
export async function planServices(parts: ServicePlanParts): Promise<Plan> {
  const services = [...parts.services];
  const changes: PlannedChange[] = [];
  const problems: string[] = [];
  const observations = createObservations(parts.cluster.uid, parts.now, createServiceStates());
  const retentions = createRetentions(parts.policy, observations, parts.now);
  for (const cloud of parts.clouds) {
    try {
      const adoptable = adoptableOf(parts.cluster, services, parts.clouds, cloud.scope, parts.adopts);
      await observations.refresh(cloud, undefined, adoptable);
      declareServices(cloud, services, parts);
    } catch (error) {
      problems.push(`load balancers of ${cloud.scope}: ${errorFields(error)['error']}`);
    }
  }
  const present = new Set<string>();
  for (const service of services) {
    present.add(service.uid);
    try {
      changes.push(...(await planOne(parts, observations, retentions, service)));
    } catch (error) {
      problems.push(`service ${service.key}: ${errorFields(error)['error']}`);
    }
  }
  for (const cloud of parts.clouds) changes.push(...orphans(cloud, observations, present));
  return { changes, problems };
}

async function planOne(
  parts: ServicePlanParts,
  observations: Observations,
  retentions: Retentions,
  service: ServiceView,
): Promise<PlannedChange[]> {
  const intent = intentOf(service, parts.loadBalancerClasses);
  if (intent === 'none') return [];
  const object = `service ${service.key}`;
  const held = (what: string): PlannedChange[] => [{ of: 'kubernetes', object, action: 'hold', what }];
  if (isPaused(service)) return held('it is paused');
  const choice = chooseCloud(service, parts.clouds);
  if ('reason' in choice) return held(`${choice.reason}: ${choice.message}`);
  const { cloud } = choice;
  if (!observations.ready(cloud.scope)) return [];
  for (let questions = 0; ; questions += 1) {
    const observation = observations.of(cloud.scope, service.uid);
    const situation: Situation = {
      service,
      intent,
      cloud,
      cluster: parts.cluster,
      observation,
      members: intent === 'ensure' ? membersOf(parts, service, cloud, observation) : [],
      refused: [],
      policy: parts.policy,
      retention: retentions.of(service, cloud.scope, {
        removing: intent === 'ensure' ? undefined : observation?.observed,
      }),
      adopts: parts.adopts,
      nowMs: parts.now(),
    };
    const plan = planService(situation);
    if (!plan.mustObserve || questions === maxQuestions) return described(object, cloud, plan);
    observations.put(cloud.scope, service.uid, await asked(parts, service, cloud));
  }
}

function membersOf(
  parts: ServicePlanParts,
  service: ServiceView,
  cloud: ServingCloud,
  observation: Observation | undefined,
) {
  const { maxMembers, drains } = cloud.loadBalancers;
  const observed = observation?.observed?.members;
  const nodeLabels = cloud.loadBalancers.nodeLabels?.(annotationsFor(service, cloud));
  return parts.members.membersFor(service, { scope: cloud.scope, maxMembers, drains, observed, nodeLabels }).members;
}

async function asked(parts: ServicePlanParts, service: ServiceView, cloud: ServingCloud): Promise<Observation> {
  const record = parseRecord(service.annotations[annotationKeys.loadBalancer]);
  const id = record?.id;
  const atMs = parts.now();
  const observed = await cloud.loadBalancers.observe(refOf(parts.cluster, service, parts.adopts));
  const missing = record !== undefined && observed?.owner?.service !== service.uid;
  if (missing && (await parts.checkVisibility(cloud.scope, atMs)) !== 'visible')
    throw new Error(
      `${id ?? 'the load balancer that was begun'} was not found, and nothing proves that this credential ` +
        `sees ${cloud.scope}`,
    );
  return {
    observed,
    source: 'read',
    readId: id,
    readReferences: externalReferencesOf(service),
    missingSinceMs: observed === undefined ? atMs : undefined,
    atMs,
    fresh: true,
  };
}

function described(object: string, { scope }: ServingCloud, plan: ServicePlan): PlannedChange[] {
  const { steps, writes, condition } = plan;
  const held = condition !== undefined && !quiet.has(condition.reason);
  return [
    ...steps.map(({ action, summary }): PlannedChange => ({ of: scope, object, action, what: summary })),
    ...writes.map((what): PlannedChange => ({ of: 'kubernetes', object, action: 'update', what })),
    ...(held
      ? [
          {
            of: 'kubernetes',
            object,
            action: 'hold' as const,
            what: `${condition.reason}: ${condition.message}`,
          },
        ]
      : []),
  ];
}

function orphans({ scope }: ServingCloud, observations: Observations, present: ReadonlySet<string>): PlannedChange[] {
  return [...observations.all(scope)]
    .filter(([uid, { retained, attached }]) => !present.has(uid) && !retained && !attached)
    .map(([, { id, name, service }]) => ({
      of: scope,
      object: `load balancer ${id ?? name}`,
      action: 'hold',
      what: `orphan: its Service ${service ?? ''} is gone; see --delete-orphans`,
    }));
}
