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

/** The security groups of the VPC, and what is known of instances, at one moment. */
export interface NetworkFacts {
  /** All of the VPC, by id. */
  readonly groups: ReadonlyMap<string, ObservedSecurityGroup>;
  /** By instance id; those that were asked for and are there. */
  readonly instances: ReadonlyMap<string, InstanceFacts>;
  /** Whether tags are of this cluster, as the cloud's controllers mark them. */
  isCluster(tags: Tags): boolean;
  /**
   * Whether an instance with these tags may be a node of this cluster: it carries the cluster's tag, or the cluster has
   * none (`--allow-untagged-cloud`).
   */
  mayBeNode(tags: Tags): boolean;
}

/**
 * How facts tell what is of the cluster. Without a cluster id any instance may be a node, and no group is one of the
 * cluster.
 */
export function markedBy(cluster: ClusterTags): Pick<NetworkFacts, 'isCluster' | 'mayBeNode'> {
  return {
    isCluster: (tags) => cluster.id !== undefined && cluster.has(tags),
    mayBeNode: (tags) => cluster.has(tags),
  };
}
