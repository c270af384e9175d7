import type { LoadBalancerStep } from '../../clouds/load-balancer-step.ts';
import type { LoadBalancerPlan, Refusal } from '../../clouds/load-balancers.ts';
import { inOrder } from '../../engine/order.ts';
import type { Refusal as EngineRefusal } from '../../engine/resource.ts';
import type { Plan, Step } from '../../engine/step.ts';

/** A step of the engine in the contract's shape, with the UID of its Service: `apply` finds the request by it. */
export interface EngineStep extends LoadBalancerStep {
  /** UID. */
  readonly service: string;
}

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

export function stepOf(service: string, step: Step): EngineStep {
  const { kind, found, document, name, summary } = step;
  const target = found?.id || document || name.slice(name.indexOf('/') + 1);
  return { action: actions[step.do], resource: kind, target, summary, service };
}

/** Pure. */
export function planOf(service: string, plan: Plan): LoadBalancerPlan<EngineStep> {
  const early = plan.steps.filter(({ last }) => !last).map(({ id }) => id);
  const steps = inOrder(
    plan.steps,
    ({ id }) => id,
    ({ after, follows, last }) => [...after, ...follows, ...(last ? early : [])],
  );
  const waits = plan.waits.map(({ ms }) => ms);
  return {
    steps: steps.map((step) => stepOf(service, step)),
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

/** The plan only adds our marks to what is adopted. */
export function marksOnly({ steps }: Plan): boolean {
  return steps.every((step) => step.do === 'mark' && step.as === 'ours');
}
