import { annotations as annotationKeys, finalizers } from '../../common/well-known.ts';
import type { LoadBalancerStep } from '../clouds/load-balancer-step.ts';
import { hasFinalizer, type ServiceView } from '../model/service-view.ts';
import type { Action } from './action.ts';
import { nextAction } from './next-action.ts';
import { neverCreated } from './observation.ts';
import { parseRecord } from './record.ts';
import { type LoadBalancerCondition, type ServiceChange, sameIngress, servicePatch } from './service-patches.ts';
import type { Situation } from './situation.ts';

/** What a run would do for one Service now. */
export interface ServicePlan {
  /** In the cloud, in order; only the first is certain. */
  readonly steps: readonly LoadBalancerStep[];
  /** On the Service, in order, one line each. */
  readonly writes: readonly string[];
  /** Undefined while steps are ahead. */
  readonly condition: LoadBalancerCondition | undefined;
  /** There is no plan before the cloud was read for this Service. */
  readonly mustObserve: boolean;
}

/** Takes writes of the Service as done, and ends with the first call to the cloud. Pure. */
export function planService(situation: Situation): ServicePlan {
  const writes: string[] = [];
  let { service, observation } = situation;
  for (;;) {
    const action: Action = nextAction({ ...situation, service, observation });
    const none = { steps: [], writes, condition: undefined, mustObserve: false };
    switch (action.do) {
      case 'nothing':
        return none;
      case 'observe':
        return { ...none, mustObserve: true };
      case 'apply':
        return { ...none, steps: action.plan.steps, writes: [...writes, ...later(situation, service)] };
      case 'settle':
        return { ...none, writes: [...writes, ...describe(service, action.change)], condition: action.condition };
      case 'release':
        return { ...none, writes: [...writes, ...describe(service, action.change)] };
      case 'write':
        writes.push(...describe(service, action.change));
        if (action.first) observation = neverCreated(situation.nowMs);
        service = changed(service, action.change);
    }
  }
}

function later({ intent }: Situation, service: ServiceView): string[] {
  if (intent === 'ensure') {
    const { id } = parseRecord(service.annotations[annotationKeys.loadBalancer]) ?? {};
    const address = service.ingress.length === 0 ? ['status: the address'] : [];
    return id === undefined ? ['record: its id', ...address] : address;
  }
  return intent === 'disown' ? ['record: removed'] : ['finalizer, record and status: removed'];
}

function describe(service: ServiceView, change: ServiceChange): string[] {
  if (servicePatch(service, change, 0) === undefined) return [];
  const lines: string[] = [];
  if (change.finalizer === 'add' && !hasFinalizer(service)) lines.push('finalizer: added');
  if (change.finalizer === 'remove' && hasFinalizer(service)) lines.push('finalizer: removed');
  const record = service.annotations[annotationKeys.loadBalancer];
  if (change.record === null && record !== undefined) lines.push('record: removed');
  if (change.record && change.record !== record) lines.push(`record: ${change.record}`);
  if (change.ingress && !sameIngress(service.ingress, change.ingress)) {
    const shown = change.ingress.map(({ ip, hostname }) => ip ?? hostname).join(', ');
    lines.push(`status: ${shown === '' ? 'no address' : shown}`);
  }
  if (change.condition === null && service.condition) lines.push('condition: removed');
  const { condition } = service;
  if (
    change.condition &&
    (condition?.reason !== change.condition.reason || condition.message !== change.condition.message)
  )
    lines.push(`condition: ${change.condition.reason}`);
  return lines;
}

function changed(service: ServiceView, { finalizer, record }: ServiceChange): ServiceView {
  const others = service.finalizers.filter((name) => name !== finalizers.loadBalancerCleanup);
  const { [annotationKeys.loadBalancer]: held, ...annotations } = service.annotations;
  const text = record === undefined ? held : (record ?? undefined);
  return {
    ...service,
    finalizers:
      finalizer === undefined
        ? service.finalizers
        : finalizer === 'add'
          ? [...others, finalizers.loadBalancerCleanup]
          : others,
    annotations: text === undefined ? annotations : { ...annotations, [annotationKeys.loadBalancer]: text },
  };
}
