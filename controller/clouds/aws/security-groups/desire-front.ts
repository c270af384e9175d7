import type { Refusal, ResourceName, Want } from '../../../engine/resource.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { type Tags, tagsFor } from '../load-balancer-tags.ts';
import type { Standing } from '../standing.ts';
import type { GroupSpec } from './group-kinds.ts';
import { groupKinds } from './group-resources.ts';
import { trafficGroupSpec } from './traffic-group.ts';

export const trafficResource: ResourceName = `${groupKinds.traffic}/main`;

/** The group in front of a load balancer of its own, or why it cannot be: another group has the name. Pure. */
export function desireFront(
  { owner, service, name: loadBalancer }: DesiredLoadBalancer,
  { front, groups }: Pick<Standing<{ readonly tags: Tags }>, 'front' | 'groups'>,
  { key, tags, ...given }: Pick<GroupSpec, 'name' | 'rules'> & { readonly key: string; readonly tags: Tags },
): { readonly want: Want<GroupSpec> } | { readonly refusal: Refusal } {
  const inTheWay = front === undefined && [...groups.values()].find((one) => one.name === given.name);
  if (inTheWay) {
    const why = `has the name that the one of ${service} needs, and its tags do not say that it is of it`;
    const message = `security group ${given.name} (${inTheWay.id}) ${why}`;
    return { refusal: { reason: 'ForeignLoadBalancer', message } };
  }
  const slot = `security group ${given.name}`;
  const spec: GroupSpec = {
    ...given,
    tags: tagsFor({ owner, service }, { owned: {} }, tags),
    description: `Security group for Kubernetes ELB ${loadBalancer} (${service})`,
  };
  return { want: { kind: groupKinds.front, key, slot, spec, summary: slot } };
}

/** The group that all load balancers of the cluster carry. */
export function desireTraffic({ owner, clusterName }: DesiredLoadBalancer): Want<GroupSpec> {
  const spec = trafficGroupSpec(owner.cluster, clusterName);
  return { kind: groupKinds.traffic, key: 'main', slot: 'traffic group', spec, summary: `security group ${spec.name}` };
}
