import type { LoadBalancerStep } from '../../clouds/load-balancer-step.ts';
import type { LoadBalancerPlan, LoadBalancerRequest, Refusal } from '../../clouds/load-balancers.ts';
import { inOrder } from '../../engine/order.ts';
import type { Refusal as EngineRefusal } from '../../engine/resource.ts';
import type { Plan, Step } from '../../engine/step.ts';

const actions = { create: 'create', update: 'update', mark: 'update', edit: 'update', delete: 'delete' } as const;
const reasons = {
  Foreign: 'ForeignLoadBalancer',
  AddressWouldChange: 'AddressWouldChange',
  InUse: 'Conflict',
  Unsupported: 'Unsupported',
  Conflict: 'Conflict',
  ClusterWideConsent: 'ClusterWideConsent',
  NoEffect: 'NoEffect',
  RetentionNotAllowed: 'RetentionNotAllowed',
} as const satisfies Record<EngineRefusal['reason'], Refusal['reason']>;

/** A step of the engine in the contract's shape. */
export function stepOf(step: Step): LoadBalancerStep {
  const { kind, found, document, name, summary } = step;
  const target = found?.id || document || name.slice(name.indexOf('/') + 1);
  return { action: actions[step.do], resource: kind, target, summary };
}

/** A plan of the engine in the contract's shape. Pure. */
export function planOf(request: LoadBalancerRequest, plan: Plan): LoadBalancerPlan {
  const early = plan.steps.filter(({ last }) => !last).map(({ id }) => id);
  const steps = inOrder(
    plan.steps,
    ({ id }) => id,
    ({ after, follows, last }) => [...after, ...follows, ...(last ? early : [])],
  );
  const waits = plan.waits.map(({ ms }) => ms);
  return {
    request,
    steps: steps.map(stepOf),
    refusals: plan.refusals.map(
      ({ reason, message, ports }): Refusal => ({
        ...{ reason: reasons[reason], message },
        ...(ports !== undefined && { ports }),
      }),
    ),
    ...(plan.remarks !== undefined && { remarks: plan.remarks }),
    waitMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
}

/** Whether the plan only marks adopted resources. */
export function marksOnly({ steps }: Plan): boolean {
  return steps.every((step) => step.do === 'mark' && step.as === 'ours');
}
