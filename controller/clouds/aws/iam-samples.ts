import { DescribeRouteTablesCommand, DescribeSecurityGroupsCommand } from '@aws-sdk/client-ec2';
import { tagMap } from './cluster-tags.ts';
import type { Tags } from './load-balancer-tags.ts';
import type { AwsParts } from './parts.ts';
import { type IngressRule, rulesOf } from './security-groups/ingress-rule.ts';

/** What carries the tag of the cluster: a policy with conditions on that tag allows nothing about anything else. */
export interface IamSamples {
  /** Put on what the controller makes. */
  readonly owned: Tags;
  /** The one of the cloud config, or one with the tag. */
  readonly routeTable: string | undefined;
  readonly group: { readonly id: string; readonly tags: Tags; readonly rule: IngressRule | undefined } | undefined;
}

/** Looks for one of each. Where a read fails there is none. */
export async function findSamples(
  parts: Pick<AwsParts, 'config' | 'ec2' | 'cluster'>,
  signal?: AbortSignal,
): Promise<IamSamples> {
  const cluster = await parts.cluster(signal).catch(() => undefined);
  const { owned = {}, keys = [] } = cluster ?? {};
  const { routeTableId } = parts.config;
  if (keys.length === 0) return { owned, routeTable: routeTableId, group: undefined };
  const Filters = [{ Name: 'tag-key', Values: [...keys] }];
  const [tables, groups] = await Promise.all([
    parts.ec2
      .read('DescribeRouteTables', new DescribeRouteTablesCommand({ Filters }), { signal })
      .catch(() => undefined),
    parts.ec2
      .read('DescribeSecurityGroups', new DescribeSecurityGroupsCommand({ Filters }), { signal })
      .catch(() => undefined),
  ]);
  const table = tables?.RouteTables?.find(({ Tags }) => cluster?.has(tagMap(Tags)));
  const found = groups?.SecurityGroups?.filter(({ Tags }) => cluster?.has(tagMap(Tags))) ?? [];
  // One with a rule can prove more, and one that is the cluster's alone most.
  const weight = ({ Tags, IpPermissions }: (typeof found)[number]) =>
    (cluster?.owns(tagMap(Tags)) ? 2 : 0) + (rulesOf(IpPermissions).length > 0 ? 1 : 0);
  const [group] = found.sort((a, b) => weight(b) - weight(a));
  return {
    owned,
    routeTable: routeTableId ?? table?.RouteTableId,
    group: group && { id: group.GroupId ?? '', tags: tagMap(group.Tags), rule: rulesOf(group.IpPermissions)[0] },
  };
}
