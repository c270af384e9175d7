import {
  AuthorizeSecurityGroupIngressCommand,
  DeleteSecurityGroupCommand,
  DeleteTagsCommand,
  DescribeSecurityGroupsCommand,
  RevokeSecurityGroupIngressCommand,
} from '@aws-sdk/client-ec2';
import { ApplySecurityGroupsToLoadBalancerCommand, RemoveTagsCommand } from '@aws-sdk/client-elastic-load-balancing';
import {
  DescribeListenersCommand,
  DescribeTargetGroupsCommand,
  RemoveTagsCommand as RemoveNetworkTagsCommand,
  SetSecurityGroupsCommand,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import { tagMap } from '../../../controller/clouds/aws/cluster-tags.ts';
import { serviceNameTag, type Tags } from '../../../controller/clouds/aws/load-balancer-tags.ts';
import { networkKinds } from '../../../controller/clouds/aws/nlb/resources.ts';
import { balancerKind } from '../../../controller/clouds/aws/security-groups/group-resources.ts';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import type { CloudWorld } from '../suite/world.ts';
import type { AwsClients } from './aws-inventory.ts';
import type { AwsNetwork } from './aws-network.ts';

/** Kinds behind version 2 of the API that carry tags. */
const tagged = new Set<string>([networkKinds.balancer, networkKinds.targetGroup, networkKinds.listener]);
const ourKeys: readonly string[] = [ownerTags.cluster, ownerTags.service, ownerTags.serviceName];

interface Balancer {
  readonly name: string;
  readonly securityGroups: readonly string[];
}

/** Takes the marks of Mooring off what it made. */
export function awsMarks(
  { ec2, elb, elbv2 }: AwsClients,
  { vpcId }: Pick<AwsNetwork, 'vpcId'>,
): Required<Pick<CloudWorld, 'stripMarks' | 'markAsClassic'>> {
  async function untag(arns: readonly string[]) {
    for (const arn of arns)
      await elbv2.send(new RemoveNetworkTagsCommand({ ResourceArns: [arn], TagKeys: [...ourKeys] }));
  }
  async function untagClassic(name: string) {
    const Tags = ourKeys.map((Key) => ({ Key })) as [{ Key: string }];
    await elb.send(new RemoveTagsCommand({ LoadBalancerNames: [name], Tags }));
  }
  async function untagGroup(id: string, keys = ourKeys) {
    await ec2.send(new DeleteTagsCommand({ Resources: [id], Tags: keys.map((Key) => ({ Key })) }));
  }

  /** The nodes let in what comes from a load balancer's own group, in place of the group of the whole cluster. */
  async function letIn(own: string, shared: string): Promise<void> {
    const Filters = [{ Name: 'vpc-id', Values: [vpcId] }];
    const { SecurityGroups = [] } = await ec2.send(new DescribeSecurityGroupsCommand({ Filters }));
    for (const { GroupId, IpPermissions = [] } of SecurityGroups)
      for (const { UserIdGroupPairs = [], IpProtocol, FromPort, ToPort } of IpPermissions) {
        const pairs = UserIdGroupPairs.filter((one) => one.GroupId === shared);
        if (pairs.length === 0) continue;
        const from = (UserIdGroupPairs: typeof pairs) => ({
          GroupId,
          IpPermissions: [{ IpProtocol, FromPort, ToPort, UserIdGroupPairs }],
        });
        await ec2.send(new AuthorizeSecurityGroupIngressCommand(from([{ GroupId: own }])));
        // Moto finds a rule by its description, too.
        await ec2.send(new RevokeSecurityGroupIngressCommand(from(pairs)));
      }
  }

  return {
    async stripMarks({ kind, id, body }) {
      if (id.startsWith('sg-')) await untagGroup(id);
      else if (id.startsWith('arn:')) {
        // Of targets and attributes the id is that of what they belong to.
        if (!tagged.has(kind)) return false;
        await untag([id]);
      } else if (kind === balancerKind) await untagClassic((body as Balancer).name);
      else return false;
      return true;
    },
    // Without ours, the classic controller's tags are left.
    async markAsClassic({ id, body }, { service }) {
      const { name, securityGroups } = body as Balancer;
      const { SecurityGroups = [] } = await ec2.send(
        new DescribeSecurityGroupsCommand({ GroupIds: [...securityGroups] }),
      );
      const isOwn = (tags: Tags) => tags[ownerTags.serviceName] === service;
      const own = SecurityGroups.find(({ Tags }) => isOwn(tagMap(Tags)))!.GroupId!;
      const [shared] = securityGroups.filter((one) => one !== own);
      await letIn(own, shared!);
      const groups = { SecurityGroups: [own] };
      if (id.startsWith('arn:')) {
        await elbv2.send(new SetSecurityGroupsCommand({ LoadBalancerArn: id, ...groups }));
        const { Listeners = [] } = await elbv2.send(new DescribeListenersCommand({ LoadBalancerArn: id }));
        const { TargetGroups = [] } = await elbv2.send(new DescribeTargetGroupsCommand({ LoadBalancerArn: id }));
        const parts = [
          ...Listeners.map(({ ListenerArn }) => ListenerArn!),
          ...TargetGroups.map(({ TargetGroupArn }) => TargetGroupArn!),
        ];
        await untag([id, ...parts]);
        await untagGroup(own);
      } else {
        await elb.send(new ApplySecurityGroupsToLoadBalancerCommand({ LoadBalancerName: name, ...groups }));
        await untagClassic(name);
        // The group of a classic one tells the cluster alone.
        await untagGroup(own, [...ourKeys, serviceNameTag]);
      }
      await ec2.send(new DeleteSecurityGroupCommand({ GroupId: shared! }));
    },
  };
}
