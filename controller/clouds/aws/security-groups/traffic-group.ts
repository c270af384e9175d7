import { createHash } from 'node:crypto';
import { ownerTags } from '../../load-balancers.ts';
import type { Tags } from '../load-balancer-tags.ts';

const kindTag = 'mooring.dev/traffic-group';
const namePrefix = 'k8s-traffic-';

/** How many security groups a load balancer may have. AWS does not raise this limit. */
export const mostGroups = 5;

/**
 * The one group that every load balancer of the cluster carries beside its own, so that one rule lets all of them reach
 * the nodes: a node's group takes few rules (60 by default), and every rule counts for each network interface.
 */
export function trafficGroupSpec(cluster: string, clusterName: string) {
  const readable = clusterName.replace(/[^A-Za-z0-9-]/g, '-').slice(0, 100);
  return {
    name: `${namePrefix}${readable}${nameEnd(cluster)}`,
    description: 'Carried by the load balancers of a Kubernetes cluster that reach its nodes',
    tags: { [ownerTags.cluster]: cluster, [kindTag]: clusterName },
  };
}

function nameEnd(cluster: string): string {
  return `-${createHash('sha256').update(cluster).digest('hex').slice(0, 10)}`;
}

/** Its name proves nothing by itself. */
export function isTrafficName(name: string, cluster: string): boolean {
  return name.startsWith(namePrefix) && name.endsWith(nameEnd(cluster));
}

export function isTrafficGroup(tags: Tags, cluster: string): boolean {
  return tags[kindTag] !== undefined && tags[ownerTags.cluster] === cluster;
}
