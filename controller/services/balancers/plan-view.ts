import type { LoadBalancerStep } from '../../clouds/load-balancer-step.ts';
import type { LoadBalancerPlan, LoadBalancerRequest } from '../../clouds/load-balancers.ts';
import { stepsInOrder } from '../../engine/order.ts';
import { type Kind, kindOf } from '../../engine/resource.ts';
import type { Plan, Step, Wait } from '../../engine/step.ts';

const actions = { create: 'create', update: 'update', mark: 'update', edit: 'update', delete: 'delete' } as const;

/** A step of the engine in the contract's shape. */
export function stepOf(step: Step): LoadBalancerStep {
  const { kind, found, document, name, summary } = step;
  const target = found?.id || document || name.slice(name.indexOf('/') + 1);
  return { action: actions[step.do], resource: kind, target, summary };
}

function waitText({ bound }: Plan, { name, why }: Wait): string {
  const id = bound[name];
  return id === undefined ? why : `${kindOf(name)} ${id}: ${why}`;
}

/** A plan of the engine in the contract's shape. Pure. */
export function planOf(request: LoadBalancerRequest, plan: Plan, kinds: ReadonlyMap<string, Kind>): LoadBalancerPlan {
  const waits = plan.waits.map(({ ms }) => ms);
  const isShared = (step: Step) => step.do !== 'edit' && kinds.get(step.kind)?.merge !== undefined;
  return {
    request,
    steps: stepsInOrder(plan.steps).map((step) => ({ ...stepOf(step), ...(isShared(step) && { isShared: true }) })),
    refusals: plan.refusals.map(({ name: _, ...refusal }) => refusal),
    ...(plan.remarks !== undefined && { remarks: plan.remarks }),
    waitMs: waits.length === 0 ? undefined : Math.min(...waits),
    ...(waits.length > 0 && { waitsFor: plan.waits.map((wait) => waitText(plan, wait)) }),
  };
}

/** Whether the plan only marks adopted resources. */
export function marksOnly({ steps }: Plan): boolean {
  return steps.every((step) => step.do === 'mark' && step.as === 'ours');
}
