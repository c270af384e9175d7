import assert from 'node:assert/strict';
import { DescribeRouteTablesCommand, DescribeSecurityGroupsCommand } from '@aws-sdk/client-ec2';
import { DescribeLoadBalancersCommand as DescribeClassicCommand } from '@aws-sdk/client-elastic-load-balancing';
import {
  DescribeListenersCommand,
  DescribeLoadBalancersCommand,
  DescribeTargetGroupsCommand,
  DescribeTargetHealthCommand,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import type { ClusterBalancer, ClusterCloud } from '../life/life-cloud.ts';
import { startAwsWorld } from './aws-world.ts';
import { clusterParts, idOf } from './cluster-parts.ts';

/**
 * Instances of two zones of one VPC, on the moto server that `run.ts` has started: as it is, behind a proxy that counts
 * changes.
 */
export async function openMotoCloud(): Promise<ClusterCloud> {
  const server = process.env['MOTO_URL'];
  assert.ok(server, 'MOTO_URL');
  const world = await startAwsWorld({ server, kind: 'nlb', config: ['NLBSecurityGroupMode = Managed'] });
  const { network, clients } = world;
  const { ec2, elb, elbv2 } = clients;
  const vms = [await world.createVm(), await world.createVm(), await world.createVm()];
  const nodes = new Map(vms.map(({ name, providerID }) => [idOf(providerID), name]));
  const nodeOf = (id: string | undefined) => nodes.get(String(id)) ?? String(id);
  const Filters = [{ Name: 'vpc-id', Values: [network.vpcId] }];

  async function membersOf(TargetGroupArn: string | undefined): Promise<string[]> {
    const { TargetHealthDescriptions = [] } = await elbv2.send(new DescribeTargetHealthCommand({ TargetGroupArn }));
    return TargetHealthDescriptions.map(({ Target }) => nodeOf(Target?.Id));
  }
  async function networkBalancers(): Promise<ClusterBalancer[]> {
    const { LoadBalancers = [] } = await elbv2.send(new DescribeLoadBalancersCommand({}));
    return Promise.all(
      LoadBalancers.filter(({ VpcId }) => VpcId === network.vpcId).map(async ({ LoadBalancerArn, DNSName }) => {
        const { Listeners = [] } = await elbv2.send(new DescribeListenersCommand({ LoadBalancerArn }));
        const groups = Listeners.flatMap(({ DefaultActions = [] }) =>
          DefaultActions.map(({ TargetGroupArn }) => TargetGroupArn),
        );
        const members = (await Promise.all(groups.map(membersOf))).flat();
        return {
          members: [...new Set(members)],
          ports: Listeners.map(({ Port }) => Number(Port)),
          addresses: [String(DNSName)],
        };
      }),
    );
  }
  async function classicBalancers(): Promise<ClusterBalancer[]> {
    const { LoadBalancerDescriptions = [] } = await elb.send(new DescribeClassicCommand({}));
    return LoadBalancerDescriptions.filter(({ VPCId }) => VPCId === network.vpcId).map((one) => ({
      members: (one.Instances ?? []).map(({ InstanceId }) => nodeOf(InstanceId)),
      ports: (one.ListenerDescriptions ?? []).map(({ Listener }) => Number(Listener?.LoadBalancerPort)),
      addresses: [String(one.DNSName)],
    }));
  }

  return {
    ...clusterParts(world),
    machines: vms.map(({ name, providerID }) => ({ node: name, providerID })),
    balancers: async () => [...(await networkBalancers()), ...(await classicBalancers())],
    async balancerParts() {
      const { TargetGroups = [] } = await elbv2.send(new DescribeTargetGroupsCommand({}));
      const { SecurityGroups = [] } = await ec2.send(new DescribeSecurityGroupsCommand({ Filters }));
      const made = SecurityGroups.filter(
        ({ GroupId, GroupName }) => GroupId !== network.nodeGroupId && GroupName !== 'default',
      );
      return [
        ...TargetGroups.filter(({ VpcId }) => VpcId === network.vpcId).map(({ TargetGroupName }) =>
          String(TargetGroupName),
        ),
        ...made.map(({ GroupName }) => String(GroupName)),
      ];
    },
    async routes() {
      const { RouteTables = [] } = await ec2.send(
        new DescribeRouteTablesCommand({ RouteTableIds: [network.routeTableId] }),
      );
      return RouteTables.flatMap(({ Routes = [] }) =>
        Routes.flatMap(({ DestinationCidrBlock, InstanceId }) =>
          InstanceId === undefined ? [] : `${DestinationCidrBlock} ${nodeOf(InstanceId)}`,
        ),
      );
    },
    close: world.close,
  };
}
