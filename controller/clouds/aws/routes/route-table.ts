import { DescribeRouteTablesCommand, type RouteTable as Ec2RouteTable } from '@aws-sdk/client-ec2';
import { tagMap } from '../cluster-tags.ts';
import { invalid } from '../errors.ts';
import { everyPage } from '../pages.ts';
import type { AwsParts } from '../parts.ts';
import type { ReadOptions } from '../service-calls.ts';

const operation = 'DescribeRouteTables';

/**
 * The one table for pod routes: of the configuration, else the only one with the cluster's tag. One call per page.
 * Throws a CloudError.
 */
export async function readRouteTable(
  { ec2, config, cluster }: Pick<AwsParts, 'ec2' | 'config' | 'cluster'>,
  options: ReadOptions,
): Promise<Ec2RouteTable & { readonly RouteTableId: string }> {
  if (config.routeTableId !== undefined) {
    const command = new DescribeRouteTablesCommand({ RouteTableIds: [config.routeTableId] });
    const { RouteTables } = await ec2.read(command, options);
    return only(RouteTables ?? [], `RouteTableID ${config.routeTableId}`);
  }
  const tags = await cluster(options.signal);
  const Filters = tags.keys.length > 0 ? [{ Name: 'tag-key', Values: [...tags.keys] }] : undefined;
  const all = await everyPage(operation, async (NextToken) => {
    const answer = await ec2.read(new DescribeRouteTablesCommand({ Filters, MaxResults: 100, NextToken }), options);
    return { items: answer.RouteTables ?? [], next: answer.NextToken };
  });
  const tables = all.filter(({ Tags }) => tags.has(tagMap(Tags)));
  return only(tables, tags.id === undefined ? 'without a cluster id' : `tagged for cluster ${tags.id}`);
}

function only(tables: readonly Ec2RouteTable[], which: string): Ec2RouteTable & { readonly RouteTableId: string } {
  const [table] = tables;
  const id = table?.RouteTableId;
  if (table !== undefined && id !== undefined && tables.length === 1) return { ...table, RouteTableId: id };
  const found = tables.length === 0 ? 'none' : tables.map(({ RouteTableId }) => RouteTableId).join(', ');
  const expected = 'expected exactly one; RouteTableID in [Global] of the cloud config names it';
  throw invalid(operation, `route tables ${which}: ${found}; ${expected}`);
}
