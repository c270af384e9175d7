import type { ClusterTags } from '../cluster-tags.ts';
import type { Tags } from '../load-balancer-tags.ts';
import type { IngressRule } from './ingress-rule.ts';

export interface ObservedSecurityGroup {
  readonly id: string;
  readonly name: string;
  readonly tags: Tags;
  readonly ingress: readonly IngressRule[];
}

/** What planning has to know of one instance. */
export interface InstanceFacts {
  readonly zone: string;
  /** Ids of its security groups. */
  readonly groups: readonly string[];
  readonly tags: Tags;
}

/** The security groups of the VPC, and who uses them, at one moment. Never changed: what a call changes makes new facts. */
export interface NetworkFacts {
  readonly vpcId: string;
  /** All of the VPC, by id. */
  readonly groups: ReadonlyMap<string, ObservedSecurityGroup>;
  /** By instance id; those that were asked for and are there. */
  readonly instances: ReadonlyMap<string, InstanceFacts>;
  /** Whether tags are of this cluster, as the cloud's controllers mark them. */
  isCluster(tags: Tags): boolean;
  /** Whether an instance with these tags may be a node of this cluster: it carries the cluster's tag, or the cluster has none (`--allow-untagged-cloud`). */
  mayBeNode(tags: Tags): boolean;
  /** Names of the load balancers that carry a group; undefined = not read. */
  readonly users: GroupUsers | undefined;
  /** Ids of groups that could not be deleted a moment ago, since something still used them. */
  readonly busy: ReadonlySet<string>;
  /** After how many milliseconds to try these again. */
  readonly busyMs?: number | undefined;
}

/** How facts tell what is of the cluster. Without a cluster id any instance may be a node, and no group is one of the cluster. */
export function markedBy(cluster: ClusterTags): Pick<NetworkFacts, 'isCluster' | 'mayBeNode'> {
  return {
    isCluster: (tags) => cluster.id !== undefined && cluster.has(tags),
    mayBeNode: (tags) => cluster.has(tags),
  };
}

/** Which load balancers carry which security group: names, classic and network ones alike, by the group's id. */
export type GroupUsers = ReadonlyMap<string, readonly string[]>;

/** By id, or by name while a step before it is still to make it. */
export function findGroup({ groups }: NetworkFacts, ref: string): ObservedSecurityGroup | undefined {
  return groups.get(ref) ?? [...groups.values()].find(({ name }) => name === ref);
}

export function withGroup(facts: NetworkFacts, group: ObservedSecurityGroup): NetworkFacts {
  return { ...facts, groups: new Map(facts.groups).set(group.id, group) };
}

export function withoutGroup(facts: NetworkFacts, id: string): NetworkFacts {
  const groups = new Map(facts.groups);
  groups.delete(id);
  return { ...facts, groups };
}
