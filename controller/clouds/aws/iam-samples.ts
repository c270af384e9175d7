import { DescribeSecurityGroupsCommand } from '@aws-sdk/client-ec2';
import { tagMap } from './cluster-tags.ts';
import type { Tags } from './load-balancer-tags.ts';
import type { AwsParts } from './parts.ts';
import { rulesOf } from './security-groups/ingress-rule.ts';

export type IamSamples = Awaited<ReturnType<typeof findSamples>>;

/**
 * What carries the tag of the cluster: a policy with conditions on that tag allows nothing about anything else. Where
 * the read fails there is no security group.
 *
 * @param routeTable the one of pod routes
 */
export async function findSamples(
  parts: Pick<AwsParts, 'ec2' | 'cluster'>,
  routeTable: string | undefined,
  signal?: AbortSignal,
) {
  const cluster = await parts.cluster(signal).catch(() => undefined);
  const { owned = {} as Tags, keys = [] } = cluster ?? {};
  if (keys.length === 0) return { owned, routeTable, group: undefined };
  const command = new DescribeSecurityGroupsCommand({ Filters: [{ Name: 'tag-key', Values: [...keys] }] });
  const groups = await parts.ec2.read(command, { signal }).catch(() => undefined);
  const found = groups?.SecurityGroups?.filter(({ Tags }) => cluster?.has(tagMap(Tags))) ?? [];
  // One with a rule can prove more, and one that is the cluster's alone most.
  const weight = ({ Tags, IpPermissions }: (typeof found)[number]) =>
    (cluster?.owns(tagMap(Tags)) ? 2 : 0) + (rulesOf(IpPermissions).length > 0 ? 1 : 0);
  const [group] = found.sort((a, b) => weight(b) - weight(a));
  return {
    /** Put on what the controller makes. */
    owned,
    routeTable,
    group: group && { id: group.GroupId ?? '', tags: tagMap(group.Tags), rule: rulesOf(group.IpPermissions)[0] },
  };
}
