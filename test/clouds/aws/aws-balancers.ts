import {
  AddTagsCommand as AddClassicTagsCommand,
  CreateLoadBalancerCommand as CreateClassicCommand,
  DeleteLoadBalancerCommand as DeleteClassicCommand,
  DescribeLoadBalancersCommand as DescribeClassicCommand,
  DescribeTagsCommand as DescribeClassicTagsCommand,
} from '@aws-sdk/client-elastic-load-balancing';
import {
  CreateListenerCommand,
  CreateLoadBalancerCommand,
  CreateTargetGroupCommand,
  DeleteLoadBalancerCommand,
  DeleteTargetGroupCommand,
  DescribeTargetGroupsCommand,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { type AwsClients, describeNetworkLoadBalancer } from './aws-inventory.ts';
import type { AwsNetwork } from './aws-network.ts';

/** Load balancers of one kind, created and read by another client. */
export interface ForeignBalancers {
  create(name: string, tags: Readonly<Record<string, string>>): Promise<string>;
  describe(id: string): Promise<string | undefined>;
  delete(id: string): Promise<void>;
}

const tagList = (tags: Readonly<Record<string, string>>) =>
  Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));

export function networkBalancers(clients: AwsClients, { vpcId, subnets }: AwsNetwork): ForeignBalancers {
  const { elbv2 } = clients;
  return {
    async create(name, tags) {
      const [subnet] = subnets;
      const { LoadBalancers } = await elbv2.send(
        new CreateLoadBalancerCommand({ Name: name, Type: 'network', Subnets: [subnet!.id], Tags: tagList(tags) }),
      );
      const arn = LoadBalancers![0]!.LoadBalancerArn!;
      const { TargetGroups } = await elbv2.send(
        new CreateTargetGroupCommand({
          Name: `theirs-${name}`.slice(0, 32),
          Protocol: 'TCP',
          Port: 9000,
          VpcId: vpcId,
          Tags: tagList(tags),
        }),
      );
      await elbv2.send(
        new CreateListenerCommand({
          LoadBalancerArn: arn,
          Protocol: 'TCP',
          Port: 9000,
          DefaultActions: [{ Type: 'forward', TargetGroupArn: TargetGroups![0]!.TargetGroupArn }],
        }),
      );
      return arn;
    },
    describe: (id) => describeNetworkLoadBalancer(clients, id),
    async delete(id) {
      const found = await elbv2.send(new DescribeTargetGroupsCommand({ LoadBalancerArn: id })).catch(() => undefined);
      await elbv2.send(new DeleteLoadBalancerCommand({ LoadBalancerArn: id }));
      for (const { TargetGroupArn } of found?.TargetGroups ?? []) {
        await elbv2.send(new DeleteTargetGroupCommand({ TargetGroupArn }));
      }
    },
  };
}

export function classicBalancers({ elb }: AwsClients, { subnets }: AwsNetwork): ForeignBalancers {
  return {
    async create(name, tags) {
      await elb.send(
        new CreateClassicCommand({
          LoadBalancerName: name,
          Subnets: [subnets[0]!.id],
          Listeners: [{ Protocol: 'TCP', LoadBalancerPort: 9000, InstancePort: 9000 }],
        }),
      );
      await elb.send(new AddClassicTagsCommand({ LoadBalancerNames: [name], Tags: tagList(tags) }));
      return name;
    },
    async describe(id) {
      const all = await elb.send(new DescribeClassicCommand({}));
      const balancer = all.LoadBalancerDescriptions?.find(({ LoadBalancerName }) => LoadBalancerName === id);
      if (balancer === undefined) return undefined;
      const tags = await elb.send(new DescribeClassicTagsCommand({ LoadBalancerNames: [id] }));
      return JSON.stringify({ balancer, tags: tags.TagDescriptions });
    },
    async delete(id) {
      await elb.send(new DeleteClassicCommand({ LoadBalancerName: id }));
    },
  };
}
