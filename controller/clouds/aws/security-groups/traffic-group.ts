import { createHash } from 'node:crypto';
import { ownerTags } from '../../load-balancers.ts';
import type { Tags } from '../load-balancer-tags.ts';

const kindTag = 'mooring.dev/traffic-group';

/** Security groups of one load balancer: a limit that AWS raises for nobody. */
export const mostGroups = 5;

/**
 * The one group that every load balancer of the cluster carries beside its own, so that one rule lets all of them reach
 * the nodes: a node's group takes few rules (60 by default), and every rule counts for each network interface.
 */
export function trafficGroupSpec(cluster: string, clusterName: string) {
  const readable = clusterName.replace(/[^A-Za-z0-9-]/g, '-').slice(0, 100);
  const hash = createHash('sha256').update(cluster).digest('hex').slice(0, 10);
  return {
    name: `k8s-traffic-${readable}-${hash}`,
    description: 'Carried by the load balancers of a Kubernetes cluster that reach its nodes',
    tags: { [ownerTags.cluster]: cluster, [kindTag]: clusterName },
  };
}

export function isTrafficGroup(tags: Tags, cluster: string): boolean {
  return tags[kindTag] !== undefined && tags[ownerTags.cluster] === cluster;
}
