import type { Instance, SecurityGroup } from '@aws-sdk/client-ec2';
import { type ClusterTags, tagMap } from '../cluster-tags.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { type IngressRule, rulesOf } from './ingress-rule.ts';

export type ObservedSecurityGroup = Readonly<ReturnType<typeof groupOf>>;

/** A security group as an answer shows it. */
export function groupOf({ GroupId: id = '', GroupName: name = '', Tags: tags, IpPermissions }: SecurityGroup) {
  return { id, name, tags: tagMap(tags) as Tags, ingress: rulesOf(IpPermissions) as readonly IngressRule[] };
}

export type InstanceFacts = Readonly<ReturnType<typeof instanceFacts>>;

/** What planning has to know of one instance. */
export function instanceFacts({ Placement, SecurityGroups, Tags: tags }: Instance) {
  return {
    zone: Placement?.AvailabilityZone ?? '',
    /** Ids of its security groups. */
    groups: (SecurityGroups ?? []).flatMap(({ GroupId }) => GroupId ?? []) as readonly string[],
    tags: tagMap(tags) as Tags,
  };
}

/** The security groups of the VPC, and what is known of instances, at one moment. */
export interface NetworkFacts {
  /** All of the VPC, by id. */
  readonly groups: ReadonlyMap<string, ObservedSecurityGroup>;
  /** By instance id; those that were asked for and are there. */
  readonly instances: ReadonlyMap<string, InstanceFacts>;
  /** Without a cluster id any instance may be a node, and no group is marked as one of the cluster. */
  readonly cluster: Pick<ClusterTags, 'has' | 'marks'>;
}
