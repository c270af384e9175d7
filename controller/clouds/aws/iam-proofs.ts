import * as ec2 from '@aws-sdk/client-ec2';
import * as elbv2 from '@aws-sdk/client-elastic-load-balancing-v2';
import type { AwsParts } from './parts.ts';
import type { SdkCommand, ServiceCalls } from './service-calls.ts';

/** A call that shows whether an action is allowed and changes nothing, whoever answers it: dry runs, about resources that cannot exist. */
export interface IamProof {
  readonly calls: ServiceCalls;
  readonly command: SdkCommand<unknown>;
}

const DryRun = true;
const none = '00000000000000000';
const [RouteTableId, GroupId, InstanceId] = [`rtb-${none}`, `sg-${none}`, `i-${none}`];
/** Of the range for documentation. */
const DestinationCidrBlock = '192.0.2.0/24';
const IpPermissions = [{ IpProtocol: 'tcp', FromPort: 9, ToPort: 9, IpRanges: [{ CidrIp: DestinationCidrBlock }] }];
const SourceDestCheck = { Value: true };
const tags = { DryRun, Resources: [GroupId], Tags: [{ Key: 'mooring.dev/check', Value: '' }] };

const dryRuns: Readonly<Record<string, () => SdkCommand<unknown>>> = {
  DescribeInstances: () => new ec2.DescribeInstancesCommand({ DryRun }),
  DescribeAvailabilityZones: () => new ec2.DescribeAvailabilityZonesCommand({ DryRun }),
  DescribeInstanceTopology: () => new ec2.DescribeInstanceTopologyCommand({ DryRun }),
  DescribeRouteTables: () => new ec2.DescribeRouteTablesCommand({ DryRun }),
  CreateRoute: () => new ec2.CreateRouteCommand({ DryRun, RouteTableId, DestinationCidrBlock, InstanceId }),
  DeleteRoute: () => new ec2.DeleteRouteCommand({ DryRun, RouteTableId, DestinationCidrBlock }),
  ModifyInstanceAttribute: () => new ec2.ModifyInstanceAttributeCommand({ DryRun, InstanceId, SourceDestCheck }),
  ModifyNetworkInterfaceAttribute: () =>
    new ec2.ModifyNetworkInterfaceAttributeCommand({ DryRun, NetworkInterfaceId: `eni-${none}`, SourceDestCheck }),
  DescribeSubnets: () => new ec2.DescribeSubnetsCommand({ DryRun }),
  DescribeVpcs: () => new ec2.DescribeVpcsCommand({ DryRun }),
  DescribeSecurityGroups: () => new ec2.DescribeSecurityGroupsCommand({ DryRun }),
  CreateSecurityGroup: () =>
    new ec2.CreateSecurityGroupCommand({
      DryRun,
      VpcId: `vpc-${none}`,
      GroupName: 'mooring-check',
      Description: 'check',
    }),
  DeleteSecurityGroup: () => new ec2.DeleteSecurityGroupCommand({ DryRun, GroupId }),
  AuthorizeSecurityGroupIngress: () => new ec2.AuthorizeSecurityGroupIngressCommand({ DryRun, GroupId, IpPermissions }),
  RevokeSecurityGroupIngress: () => new ec2.RevokeSecurityGroupIngressCommand({ DryRun, GroupId, IpPermissions }),
  CreateTags: () => new ec2.CreateTagsCommand(tags),
  DeleteTags: () => new ec2.DeleteTagsCommand(tags),
};

/**
 * How an action is proved; undefined for the changes of Elastic Load Balancing, which has no dry run.
 *
 * @param caller ARN of the credential, for the partition and the account
 */
export function iamProof(
  action: string,
  parts: Pick<AwsParts, 'ec2' | 'elbv2' | 'region'>,
  caller: string,
): IamProof | undefined {
  const [service, name = ''] = action.split(':');
  if (service === 'ec2') {
    const dryRun = dryRuns[name];
    return dryRun && { calls: parts.ec2, command: dryRun() };
  }
  const [, partition = 'aws', , , account = ''] = caller.split(':');
  const arn = (resource: string) => `arn:${partition}:elasticloadbalancing:${parts.region}:${account}:${resource}`;
  const LoadBalancerArn = arn('loadbalancer/net/mooring-check/0000000000000000');
  const TargetGroupArn = arn('targetgroup/mooring-check/0000000000000000');
  const reads: Readonly<Record<string, () => IamProof>> = {
    DescribeLoadBalancers: () => v2(new elbv2.DescribeLoadBalancersCommand({ PageSize: 1 })),
    DescribeLoadBalancerAttributes: () => v2(new elbv2.DescribeLoadBalancerAttributesCommand({ LoadBalancerArn })),
    DescribeTags: () => v2(new elbv2.DescribeTagsCommand({ ResourceArns: [LoadBalancerArn] })),
    DescribeListeners: () => v2(new elbv2.DescribeListenersCommand({ LoadBalancerArn })),
    DescribeTargetGroups: () => v2(new elbv2.DescribeTargetGroupsCommand({ PageSize: 1 })),
    DescribeTargetGroupAttributes: () => v2(new elbv2.DescribeTargetGroupAttributesCommand({ TargetGroupArn })),
    DescribeTargetHealth: () => v2(new elbv2.DescribeTargetHealthCommand({ TargetGroupArn })),
  };
  const v2 = (command: SdkCommand<unknown>): IamProof => ({ calls: parts.elbv2(), command });
  return reads[name]?.();
}
