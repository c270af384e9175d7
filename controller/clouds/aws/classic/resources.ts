import type { Found } from '../../../engine/resource.ts';
import { ownerIn } from '../load-balancer-tags.ts';
import { isRetained, type LoadBalancerView, slotOf } from '../load-balancer-view.ts';
import { balancerKind, groupKinds } from '../security-groups/group-resources.ts';
import type { Attributes, ClassicLoadBalancer } from './classic-load-balancer.ts';

export const classicKinds = {
  ...groupKinds,
  balancer: balancerKind,
  /** Of one load balancer; no list shows them. */
  attributes: 'attributes',
} as const;

export function showBalancer(balancer: ClassicLoadBalancer, view: LoadBalancerView): Found<ClassicLoadBalancer> {
  const { name, hostname, securityGroups, tags } = balancer;
  const owner = ownerIn(tags, view.cluster);
  return {
    kind: classicKinds.balancer,
    id: hostname,
    ...(owner !== undefined && { owner, key: 'main' }),
    slots: [slotOf(name)],
    refs: view.groupRefs(securityGroups),
    status: 'ready',
    retained: isRetained(tags, view.cluster),
    address: hostname,
    body: balancer,
  };
}

/** Network ones have an ARN. */
export function isClassic(body: unknown): body is ClassicLoadBalancer {
  return typeof body === 'object' && body !== null && 'backendPolicies' in body;
}

export interface AttributesBody {
  /** Of the load balancer. */
  readonly name: string;
  readonly attributes: Attributes;
}

export function showAttributes(hostname: string, body: AttributesBody): Found<AttributesBody> {
  return { kind: classicKinds.attributes, id: hostname, key: 'main', within: hostname, status: 'ready', body };
}
