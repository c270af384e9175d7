import type { DesiredLoadBalancer } from '../clouds/load-balancers.ts';
import type { ServiceView } from '../model/service-view.ts';
import { type ClusterIdentity, desiredOf } from './desired.ts';
import { intentOf } from './intent.ts';
import type { DesirePolicy } from './operator-policy.ts';
import { takesPods } from './pods/pod-members.ts';
import { chooseCloud, type ServingCloud } from './serving-cloud.ts';

export interface DeclareParts {
  readonly cluster: ClusterIdentity;
  readonly clouds: readonly ServingCloud[];
  readonly loadBalancerClasses: readonly string[];
  readonly policy: DesirePolicy;
}

/**
 * Tells a cloud the desired state of these Services, and which load balancers the operator lends. To be called before
 * the first plan and after each complete read: a shared resource shrinks only when the specs of all are readable.
 *
 * @param services all that exist
 */
export function declareServices(
  cloud: ServingCloud,
  services: Iterable<ServiceView>,
  { cluster, clouds, loadBalancerClasses, policy }: DeclareParts,
): void {
  let isComplete = true;
  const all: DesiredLoadBalancer[] = [];
  for (const service of services) {
    const intent = intentOf(service, loadBalancerClasses);
    if (intent !== 'ensure' && intent !== 'keep') continue;
    const choice = chooseCloud(service, clouds);
    if (!('cloud' in choice) || choice.cloud !== cloud) continue;
    const parts = { cluster, cloud, policy, members: [], ofPods: takesPods(service, cloud), retain: false };
    const desired = desiredOf(service, parts);
    if (desired.ok) all.push({ ...desired.desired, areMembersKnown: false });
    else isComplete = false;
  }
  cloud.loadBalancers.declare(all, isComplete, new Set(policy.attachable.map(({ id }) => id)));
}
