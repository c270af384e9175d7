import assert from 'node:assert/strict';
import { aws } from '../../../../../common/provider-id/aws.ts';
import { clusterTagsOf } from '../../../../../controller/clouds/aws/cluster-tags.ts';
import type { NlbObserved } from '../../../../../controller/clouds/aws/nlb/observed.ts';
import { type PlanContext, planNlb } from '../../../../../controller/clouds/aws/nlb/plan.ts';
import type { NlbStep } from '../../../../../controller/clouds/aws/nlb/step.ts';
import type { DesiredLoadBalancer, Refusal } from '../../../../../controller/clouds/load-balancers.ts';
import { clusterId, permissions, type RecordingCalls } from './recording-calls.ts';

export const managed: PlanContext = {
  config: { managedNlbSecurityGroups: true, disableSecurityGroupIngress: false, healthProbe: undefined },
  cluster: clusterTagsOf(clusterId, false),
  permissions,
  accepts: (providerID) => aws.parse(providerID) !== undefined,
};
export const plain: PlanContext = { ...managed, config: { ...managed.config, managedNlbSecurityGroups: false } };

export interface Driven {
  readonly observed: NlbObserved | undefined;
  readonly steps: readonly NlbStep[];
  readonly refusals: readonly Refusal[];
}

export async function drive(
  calls: RecordingCalls,
  start: NlbObserved | undefined,
  planFor: (observed: NlbObserved | undefined) => ReturnType<typeof planNlb>,
): Promise<Driven> {
  let observed = start;
  const steps: NlbStep[] = [];
  for (let round = 0; round < 200; round += 1) {
    const plan = planFor(observed);
    const [step] = plan.steps;
    if (step) {
      steps.push(step);
      observed = await calls.apply(step, observed);
    } else if (plan.waitMs !== undefined) observed = calls.later(observed);
    else return { observed, steps, refusals: plan.refusals };
  }
  assert.fail(`no end: ${steps.slice(-3).map(({ summary }) => summary)}`);
}

export const ensure = (calls: RecordingCalls, wish: DesiredLoadBalancer, observed?: NlbObserved, context = managed) =>
  drive(calls, observed, (one) => planNlb(wish, one, context));

export const summaries = ({ steps }: Driven) => steps.map(({ action, resource }) => `${action} ${resource}`);
