import { DescribeRouteTablesCommand, DescribeSecurityGroupsCommand, type EC2Client } from '@aws-sdk/client-ec2';
import {
  DescribeLoadBalancersCommand as DescribeClassicCommand,
  type ElasticLoadBalancingClient,
} from '@aws-sdk/client-elastic-load-balancing';
import {
  DescribeListenersCommand,
  DescribeLoadBalancersCommand,
  DescribeTagsCommand,
  DescribeTargetGroupsCommand,
  DescribeTargetHealthCommand,
  type ElasticLoadBalancingV2Client,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import type { InventoryItem } from '../suite/world.ts';

export interface AwsClients {
  readonly ec2: EC2Client;
  readonly elb: ElasticLoadBalancingClient;
  readonly elbv2: ElasticLoadBalancingV2Client;
}

/** Everything but instances that stands in one VPC. */
export async function inventoryOf(clients: AwsClients, vpcId: string): Promise<readonly InventoryItem[]> {
  const parts = await Promise.all([
    networkLoadBalancers(clients, vpcId),
    classicLoadBalancers(clients, vpcId),
    securityGroups(clients, vpcId),
    routes(clients, vpcId),
  ]);
  return parts.flat();
}

async function networkLoadBalancers({ elbv2 }: AwsClients, vpcId: string): Promise<InventoryItem[]> {
  const items: InventoryItem[] = [];
  const { LoadBalancers = [] } = await elbv2.send(new DescribeLoadBalancersCommand({}));
  for (const { LoadBalancerArn, LoadBalancerName: name, VpcId, SecurityGroups = [] } of LoadBalancers) {
    if (VpcId !== vpcId) continue;
    items.push({ kind: 'load balancer', name: `${name} with ${SecurityGroups.length} groups` });
    const { Listeners = [] } = await elbv2.send(new DescribeListenersCommand({ LoadBalancerArn }));
    for (const { Protocol, Port } of Listeners) items.push({ kind: 'listener', name: `${name} ${Protocol} ${Port}` });
  }
  const { TargetGroups = [] } = await elbv2.send(new DescribeTargetGroupsCommand({}));
  for (const { TargetGroupArn, TargetGroupName: name, VpcId, LoadBalancerArns = [] } of TargetGroups) {
    if (VpcId !== vpcId) continue;
    const { TargetHealthDescriptions = [] } = await elbv2.send(new DescribeTargetHealthCommand({ TargetGroupArn }));
    const targets = TargetHealthDescriptions.filter(({ TargetHealth }) => TargetHealth?.State !== 'draining');
    const of = LoadBalancerArns.length === 0 ? ', unused' : '';
    items.push({ kind: 'target group', name: `${name} of ${targets.length}${of}` });
  }
  return items;
}

async function classicLoadBalancers({ elb }: AwsClients, vpcId: string): Promise<InventoryItem[]> {
  const { LoadBalancerDescriptions = [] } = await elb.send(new DescribeClassicCommand({}));
  return LoadBalancerDescriptions.filter(({ VPCId }) => VPCId === vpcId).flatMap((classic): InventoryItem[] => {
    const { LoadBalancerName: name, ListenerDescriptions = [], Instances = [] } = classic;
    const listeners = ListenerDescriptions.map(({ Listener }) => ({
      kind: 'classic listener',
      name: `${name} ${Listener?.Protocol} ${Listener?.LoadBalancerPort} to ${Listener?.InstancePort}`,
    }));
    return [{ kind: 'classic load balancer', name: `${name} of ${Instances.length}` }, ...listeners];
  });
}

async function securityGroups({ ec2 }: AwsClients, vpcId: string): Promise<InventoryItem[]> {
  const Filters = [{ Name: 'vpc-id', Values: [vpcId] }];
  const { SecurityGroups = [] } = await ec2.send(new DescribeSecurityGroupsCommand({ Filters }));
  const names = new Map(SecurityGroups.map(({ GroupId, GroupName }) => [GroupId, GroupName]));
  return SecurityGroups.flatMap(({ GroupName, IpPermissions = [] }): InventoryItem[] => {
    const rules = IpPermissions.flatMap(
      ({ IpProtocol, FromPort, ToPort, IpRanges = [], Ipv6Ranges = [], UserIdGroupPairs = [] }) => {
        const sources = [
          ...IpRanges.map(({ CidrIp }) => CidrIp),
          ...Ipv6Ranges.map(({ CidrIpv6 }) => CidrIpv6),
          ...UserIdGroupPairs.map(({ GroupId }) => names.get(GroupId)),
        ];
        return sources.map((source) => `${GroupName} ${IpProtocol} ${FromPort ?? ''}-${ToPort ?? ''} from ${source}`);
      },
    );
    return [
      { kind: 'security group', name: GroupName ?? '' },
      ...rules.map((name) => ({ kind: 'ingress rule', name })),
    ];
  });
}

async function routes({ ec2 }: AwsClients, vpcId: string): Promise<InventoryItem[]> {
  const Filters = [{ Name: 'vpc-id', Values: [vpcId] }];
  const { RouteTables = [] } = await ec2.send(new DescribeRouteTablesCommand({ Filters }));
  return RouteTables.flatMap(({ Routes = [] }) =>
    Routes.map(({ DestinationCidrBlock, DestinationIpv6CidrBlock }) => ({
      kind: 'route',
      name: DestinationCidrBlock ?? DestinationIpv6CidrBlock ?? '',
    })),
  );
}

/** Everything that AWS says about a network load balancer, as text. */
export async function describeNetworkLoadBalancer({ elbv2 }: AwsClients, arn: string): Promise<string | undefined> {
  const all = await elbv2.send(new DescribeLoadBalancersCommand({}));
  const balancer = all.LoadBalancers?.find(({ LoadBalancerArn }) => LoadBalancerArn === arn);
  if (balancer === undefined) return undefined;
  const { Listeners } = await elbv2.send(new DescribeListenersCommand({ LoadBalancerArn: arn }));
  // Moto answers TargetGroupNotFound where it is asked for those of a load balancer without listeners.
  const groups = await elbv2.send(new DescribeTargetGroupsCommand({}));
  const TargetGroups = (groups.TargetGroups ?? []).filter(({ LoadBalancerArns }) => LoadBalancerArns?.includes(arn));
  const { TagDescriptions } = await elbv2.send(new DescribeTagsCommand({ ResourceArns: [arn] }));
  const targets = [];
  for (const { TargetGroupArn } of TargetGroups) {
    const { TargetHealthDescriptions } = await elbv2.send(new DescribeTargetHealthCommand({ TargetGroupArn }));
    targets.push(TargetHealthDescriptions?.map(({ Target }) => Target));
  }
  return JSON.stringify({ balancer, Listeners, TargetGroups, TagDescriptions, targets });
}
