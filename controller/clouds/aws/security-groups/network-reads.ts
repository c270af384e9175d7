import {
  DescribeRouteTablesCommand,
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  DescribeVpcsCommand,
  type Filter,
  type Instance,
} from '@aws-sdk/client-ec2';
import type { CloudError } from '../../../../common/cloud-error.ts';
import { chunks, inParallel } from '../../parallel.ts';
import { listInstances } from '../ec2.ts';
import { invalid } from '../errors.ts';
import { everyPage } from '../pages.ts';
import type { AwsParts } from '../parts.ts';
import type { ReadOptions } from '../service-calls.ts';
import { type Subnet, subnetOf } from '../subnets.ts';
import { groupOf, type InstanceFacts, instanceFacts, type ObservedSecurityGroup } from './network-facts.ts';
import { createTogether } from './together.ts';

export type NetworkReads = ReturnType<typeof createNetworkReads>;

const pageSize = 1000;
/** EC2 takes up to 200 values a filter. */
const idsPerFilter = 200;
const subnetsFreshMs = 60_000;
const instancesFreshMs = 600_000;
const forgetInstancesMs = 86_400_000;

/** What load balancers have to know of the VPC. What reads throws a CloudError. */
export function createNetworkReads(parts: Pick<AwsParts, 'context' | 'config' | 'ec2' | 'cluster' | 'self'>) {
  const { ec2, config, context } = parts;
  const { clock } = context;
  let vpcId: string | undefined;
  let subnetsSeen: { readonly atMs: number; readonly subnets: readonly Subnet[] } | undefined;
  const instancesSeen = new Map<string, { readonly atMs: number; readonly facts: InstanceFacts }>();
  /** Reads under way, by instance id. */
  const reading = new Map<string, Promise<void>>();
  let groupsSeen: ReadonlyMap<string, ObservedSecurityGroup> | undefined;

  async function vpc(options: ReadOptions = {}): Promise<string> {
    vpcId ??= config.vpc ?? (await parts.self(options.signal))?.VpcId ?? (await clusterVpc(options));
    return vpcId;
  }

  /** Off the cloud: where the cluster's subnets are, else the default one. */
  async function clusterVpc(options: ReadOptions): Promise<string> {
    const cluster = await parts.cluster(options.signal);
    const keys = Object.keys(cluster.owned);
    if (keys.length > 0) {
      const subnets = await describeSubnets([{ Name: 'tag-key', Values: keys }], options);
      const ids = new Set(subnets.flatMap(({ VpcId }) => VpcId ?? []));
      const [only] = ids;
      if (ids.size === 1 && only !== undefined) return only;
      if (ids.size > 1) throw noVpc(`subnets of the cluster are in several: ${[...ids].join(', ')}`);
    }
    const command = new DescribeVpcsCommand({ Filters: [{ Name: 'is-default', Values: ['true'] }] });
    const { Vpcs } = await ec2.read(command, options);
    const id = Vpcs?.[0]?.VpcId;
    if (id === undefined) throw noVpc('no subnet has the tag of the cluster, and there is no default VPC');
    return id;
  }

  async function describeSubnets(filters: Filter[], options: ReadOptions) {
    return everyPage('DescribeSubnets', async (NextToken) => {
      const command = new DescribeSubnetsCommand({ Filters: filters, MaxResults: pageSize, NextToken });
      const { Subnets, NextToken: next } = await ec2.read(command, options);
      return { items: Subnets ?? [], next };
    });
  }

  /** Every subnet of the VPC. Default: remembered for a minute. */
  async function subnets(options: ReadOptions = {}, maxAgeMs = subnetsFreshMs): Promise<readonly Subnet[]> {
    const now = clock.monotonic();
    if (subnetsSeen !== undefined && now - subnetsSeen.atMs < maxAgeMs) return subnetsSeen.subnets;
    const filters = [{ Name: 'vpc-id', Values: [await vpc(options)] }];
    const [described, tables] = await Promise.all([
      describeSubnets(filters, options),
      everyPage('DescribeRouteTables', async (NextToken) => {
        const command = new DescribeRouteTablesCommand({ Filters: filters, MaxResults: 100, NextToken });
        const { RouteTables, NextToken: next } = await ec2.read(command, options);
        return { items: RouteTables ?? [], next };
      }),
    ]);
    const found = described.map((one) => subnetOf(one, tables));
    subnetsSeen = { atMs: now, subnets: found };
    return found;
  }

  async function readGroups(options: ReadOptions): Promise<ReadonlyMap<string, ObservedSecurityGroup>> {
    const Filters = [{ Name: 'vpc-id', Values: [await vpc(options)] }];
    const groups = await everyPage('DescribeSecurityGroups', async (NextToken) => {
      const command = new DescribeSecurityGroupsCommand({ Filters, MaxResults: pageSize, NextToken });
      const { SecurityGroups, NextToken: next } = await ec2.read(command, options);
      return { items: SecurityGroups ?? [], next };
    });
    groupsSeen = new Map(groups.map((group) => [group.GroupId ?? '', groupOf(group)]));
    return groupsSeen;
  }

  /** Finds out about instances, remembered for ten minutes, and beyond where they are not shown any more. */
  async function instances(ids: readonly string[], options: ReadOptions = {}): Promise<void> {
    const now = clock.monotonic();
    for (const [id, { atMs }] of instancesSeen) if (now - atMs >= forgetInstancesMs) instancesSeen.delete(id);
    const isFresh = (id: string) => now - (instancesSeen.get(id)?.atMs ?? Number.NEGATIVE_INFINITY) < instancesFreshMs;
    const missing = [...new Set(ids)].filter((id) => !isFresh(id));
    // Target groups of one Service register the same instances side by side.
    const others = new Set(missing.flatMap((id) => reading.get(id) ?? []));
    const asked = missing.filter((id) => !reading.has(id));
    const work = describe(asked, now, options);
    for (const id of asked) reading.set(id, work);
    try {
      await Promise.all([work, ...others]);
    } finally {
      for (const id of asked) reading.delete(id);
    }
  }

  async function describe(ids: readonly string[], atMs: number, options: ReadOptions): Promise<void> {
    await inParallel(2, chunks(ids, idsPerFilter), async (Values) => {
      for (const instance of await listInstances(ec2, [{ Name: 'instance-id', Values }], options))
        instancesSeen.set(instance.InstanceId ?? '', { atMs, facts: instanceFacts(instance) });
    });
  }

  return {
    vpc,
    subnets,
    instances,
    /**
     * Security groups as they are now, by id, in one call for each thousand. Services that are looked at together share
     * one read that begins after the last of them asked.
     */
    groups: createTogether(readGroups),
    /** Security groups as last read, by id; undefined before the first read. */
    lastGroups: () => groupsSeen,
    /** What a call has made of one; undefined = it is gone. */
    noteGroup(id: string, group: ObservedSecurityGroup | undefined): void {
      const groups = new Map(groupsSeen);
      if (group === undefined) groups.delete(id);
      else groups.set(id, group);
      groupsSeen = groups;
    },
    /** Of these, what is remembered. */
    knownInstances(ids: readonly string[]): ReadonlyMap<string, InstanceFacts> {
      const known = ids.map((id) => [id, instancesSeen.get(id)?.facts] as const);
      return new Map(known.flatMap(([id, facts]) => (facts === undefined ? [] : [[id, facts] as const])));
    },
    /** Ids of all groups that remembered instances have. */
    groupsOfInstances: (): ReadonlySet<string> =>
      new Set([...instancesSeen.values()].flatMap(({ facts }) => facts.groups)),
    /** What a lookup has shown; kept once there are load balancers. */
    noteInstance(instance: Instance): void {
      if (groupsSeen === undefined || instance.InstanceId === undefined) return;
      instancesSeen.set(instance.InstanceId, { atMs: clock.monotonic(), facts: instanceFacts(instance) });
    },
    /** As last read; undefined before the first read. */
    lastSubnets: () => subnetsSeen?.subnets,
  };
}

function noVpc(why: string): CloudError {
  return invalid('vpc', `no VPC: ${why}; expected VPC in [Global] of the cloud config`);
}
