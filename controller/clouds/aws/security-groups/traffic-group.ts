import { createHash } from 'node:crypto';
import { type Owner, ownerTags } from '../../load-balancers.ts';
import type { Tags } from '../load-balancer-tags.ts';
import type { NetworkFacts, ObservedSecurityGroup } from './network-facts.ts';
import { type PlannedSecurityGroupCall, plannedCall } from './security-group-call.ts';

/**
 * The one group that every load balancer of the cluster carries beside its own, so that one rule lets all of them reach the nodes: a node's group takes few rules (60 by
 * default), and every rule counts for each of the node's network interfaces.
 */
export interface TrafficGroupWish {
  readonly owner: Owner;
  /** `--cluster-name`. */
  readonly clusterName: string;
}

const kindTag = 'mooring.dev/traffic-group';

export function trafficGroupName(cluster: string, clusterName: string): string {
  const readable = clusterName.replace(/[^A-Za-z0-9-]/g, '-').slice(0, 100);
  const hash = createHash('sha256').update(cluster).digest('hex').slice(0, 10);
  return `k8s-traffic-${readable}-${hash}`;
}

export function isTrafficGroup(tags: Tags, cluster: string): boolean {
  return tags[kindTag] !== undefined && tags[ownerTags.cluster] === cluster;
}

/** The cluster's traffic group, by its tags. */
export function trafficGroupOf(facts: NetworkFacts | undefined, cluster: string): ObservedSecurityGroup | undefined {
  const found = [...(facts?.groups.values() ?? [])].filter(({ tags }) => isTrafficGroup(tags, cluster));
  return found.sort((a, b) => (a.id < b.id ? -1 : 1))[0];
}

/** Makes it where it is not there. Pure. */
export function planTrafficGroup(
  { owner, clusterName }: TrafficGroupWish,
  facts: NetworkFacts | undefined,
): { readonly calls: readonly PlannedSecurityGroupCall[]; readonly group: string } {
  const there = trafficGroupOf(facts, owner.cluster);
  if (there !== undefined) return { calls: [], group: there.id };
  const name = trafficGroupName(owner.cluster, clusterName);
  const call = { does: 'create security group', name, ...trafficGroupTags(owner.cluster, clusterName) } as const;
  return { calls: [plannedCall(call, name)], group: name };
}

/** What it carries when it is made, beside its name. */
export function trafficGroupTags(cluster: string, clusterName: string) {
  return {
    description: 'Carried by the load balancers of a Kubernetes cluster that reach its nodes',
    tags: { [ownerTags.cluster]: cluster, [kindTag]: clusterName },
  };
}
