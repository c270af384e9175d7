import { DescribeSecurityGroupsCommand } from '@aws-sdk/client-ec2';
import { tagMap } from './cluster-tags.ts';
import type { Tags } from './load-balancer-tags.ts';
import type { AwsParts } from './parts.ts';
import { type IngressRule, rulesOf } from './security-groups/ingress-rule.ts';

/** What carries the tag of the cluster: a policy with conditions on that tag allows nothing about anything else. */
export interface IamSamples {
  /** Put on what the controller makes. */
  readonly owned: Tags;
  /** The one of pod routes. */
  readonly routeTable: string | undefined;
  readonly group: { readonly id: string; readonly tags: Tags; readonly rule: IngressRule | undefined } | undefined;
}

/** Looks for a security group. Where the read fails there is none. */
export async function findSamples(
  parts: Pick<AwsParts, 'ec2' | 'cluster'>,
  routeTable: string | undefined,
  signal?: AbortSignal,
): Promise<IamSamples> {
  const cluster = await parts.cluster(signal).catch(() => undefined);
  const { owned = {}, keys = [] } = cluster ?? {};
  if (keys.length === 0) return { owned, routeTable, group: undefined };
  const command = new DescribeSecurityGroupsCommand({ Filters: [{ Name: 'tag-key', Values: [...keys] }] });
  const groups = await parts.ec2.read(command, { signal }).catch(() => undefined);
  const found = groups?.SecurityGroups?.filter(({ Tags }) => cluster?.has(tagMap(Tags))) ?? [];
  // One with a rule can prove more, and one that is the cluster's alone most.
  const weight = ({ Tags, IpPermissions }: (typeof found)[number]) =>
    (cluster?.owns(tagMap(Tags)) ? 2 : 0) + (rulesOf(IpPermissions).length > 0 ? 1 : 0);
  const [group] = found.sort((a, b) => weight(b) - weight(a));
  return {
    owned,
    routeTable,
    group: group && { id: group.GroupId ?? '', tags: tagMap(group.Tags), rule: rulesOf(group.IpPermissions)[0] },
  };
}
