import type { LoadBalancerPlan } from '../../load-balancers.ts';
import type { NetworkFacts } from './network-facts.ts';
import { type NodeRuleRemoval, planNodeRuleRemoval } from './node-rules.ts';
import { type PlannedSecurityGroupCall, plannedCall } from './security-group-call.ts';
import { trafficGroupOf } from './traffic-group.ts';

const defaultBusyMs = 5000;

/**
 * What is to be done about security groups once the load balancer itself is gone: rules on the nodes' groups, the traffic group when this was the last that carried it, and at
 * the very last the group that tells whose all this is. Pure.
 */
export function planGroupRemoval(
  removal: NodeRuleRemoval,
  facts: NetworkFacts,
): Pick<LoadBalancerPlan<PlannedSecurityGroupCall>, 'steps' | 'waitMs'> {
  const { owner, loadBalancer, ownGroup } = removal;
  const traffic = trafficGroupOf(facts, owner.cluster);
  const groups = [...new Set([...removal.groups, ...(traffic === undefined ? [] : [traffic.id])])];
  const steps: PlannedSecurityGroupCall[] = [...planNodeRuleRemoval({ ...removal, groups }, facts)];
  let waitMs: number | undefined;
  const others = (facts.users?.get(traffic?.id ?? '') ?? []).filter((name) => name !== loadBalancer);
  if (traffic !== undefined && others.length === 0 && ownGroup !== undefined) {
    if (facts.busy.has(traffic.id)) waitMs = facts.busyMs ?? defaultBusyMs;
    if (waitMs === undefined) {
      const unless = { by: 'users of a group', group: traffic.id, but: loadBalancer } as const;
      steps.push(plannedCall({ does: 'delete security group', group: traffic.id, unless }, traffic.name));
    }
  }
  const own = ownGroup === undefined ? undefined : facts.groups.get(ownGroup);
  if (own !== undefined) {
    // While the other one waits, this one tells that something is left to do.
    if (facts.busy.has(own.id)) waitMs ??= facts.busyMs ?? defaultBusyMs;
    if (waitMs === undefined) {
      steps.push(plannedCall({ does: 'delete security group', group: own.id, unless: undefined }, own.name));
    }
  }
  return { steps, waitMs };
}
