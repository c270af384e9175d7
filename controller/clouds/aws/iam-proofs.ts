import * as ec2 from '@aws-sdk/client-ec2';
import * as elbv2 from '@aws-sdk/client-elastic-load-balancing-v2';
import type { IamAction } from './iam-actions.ts';
import type { IamSamples } from './iam-samples.ts';
import type { AwsParts } from './parts.ts';
import { type IngressRule, permissionsOf } from './security-groups/ingress-rule.ts';
import type { SdkCommand, ServiceCalls } from './service-calls.ts';

/**
 * A call that shows whether an action is allowed and changes nothing, whatever the answer: a dry run, a call about a
 * resource that cannot exist, or one that sets what is set already.
 */
export interface IamProof {
  readonly calls: ServiceCalls;
  readonly command: SdkCommand<unknown>;
  /** It is about nothing that exists: a policy with conditions on tags denies that, and the denial proves nothing. */
  readonly isVague: boolean;
}

const DryRun = true;
const none = '00000000000000000';
const InstanceId = `i-${none}`;
/** Of the range for documentation. */
const DestinationCidrBlock = '192.0.2.0/24';
/** As the controller sends it: a policy may allow no other value. */
const SourceDestCheck = { Value: false };

type Command = SdkCommand<unknown>;

/** Of actions that a policy may allow for whatever is tagged: about the sample, where there is one. */
const aboutSamples: Readonly<Record<string, (samples: IamSamples) => { command: Command; isVague: boolean }>> = {
  CreateRoute: ({ routeTable: id }) => {
    const request = { DryRun, RouteTableId: id ?? `rtb-${none}`, DestinationCidrBlock, InstanceId };
    return { command: new ec2.CreateRouteCommand(request), isVague: id === undefined };
  },
  DeleteRoute: ({ routeTable: id }) => {
    const request = { DryRun, RouteTableId: id ?? `rtb-${none}`, DestinationCidrBlock };
    return { command: new ec2.DeleteRouteCommand(request), isVague: id === undefined };
  },
  // No node is asked for: where a dry run were none, its check would be off.
  ModifyInstanceAttribute: () => {
    const command = new ec2.ModifyInstanceAttributeCommand({ DryRun, InstanceId, SourceDestCheck });
    return { command, isVague: true };
  },
  DeleteSecurityGroup: () => {
    const command = new ec2.DeleteSecurityGroupCommand({ DryRun, GroupId: `sg-${none}` });
    return { command, isVague: true };
  },
  // A rule that is there already.
  AuthorizeSecurityGroupIngress: ({ group }) => {
    const { id, rule } = group?.rule ? group : { id: `sg-${none}`, rule: undefined };
    const request = { DryRun, GroupId: id, IpPermissions: permissionsOf([rule ?? noRule]) };
    return { command: new ec2.AuthorizeSecurityGroupIngressCommand(request), isVague: rule === undefined };
  },
  // One that is not.
  RevokeSecurityGroupIngress: ({ group }) => {
    const request = { DryRun, GroupId: group?.id ?? `sg-${none}`, IpPermissions: permissionsOf([noRule]) };
    return { command: new ec2.RevokeSecurityGroupIngressCommand(request), isVague: group === undefined };
  },
  // A tag that it has, and one that it has not. A policy may allow this for what is the cluster's alone.
  CreateTags: (samples) => {
    const { id, isVague, tag } = ownGroup(samples);
    return { command: new ec2.CreateTagsCommand({ DryRun, Resources: [id], Tags: [tag] }), isVague };
  },
  DeleteTags: (samples) => {
    const { id, isVague } = ownGroup(samples);
    const Tags = [{ Key: 'mooring.dev/check' }];
    return { command: new ec2.DeleteTagsCommand({ DryRun, Resources: [id], Tags }), isVague };
  },
};

const checkTag = { Key: 'mooring.dev/check', Value: '' };

const noRule: IngressRule = { protocol: 'tcp', fromPort: 9, toPort: 9, source: DestinationCidrBlock };

function ownGroup({ group, owned }: IamSamples) {
  const [key = 'mooring.dev/check', value = ''] = Object.entries(owned)[0] ?? [];
  const isVague = group === undefined || group.tags[key] !== value;
  return { id: isVague ? `sg-${none}` : group.id, isVague, tag: { Key: key, Value: value } };
}

const dryRuns: Readonly<Record<string, (samples: IamSamples) => Command>> = {
  DescribeInstances: () => new ec2.DescribeInstancesCommand({ DryRun }),
  DescribeAvailabilityZones: () => new ec2.DescribeAvailabilityZonesCommand({ DryRun }),
  DescribeInstanceTopology: () => new ec2.DescribeInstanceTopologyCommand({ DryRun }),
  DescribeVolumes: () => new ec2.DescribeVolumesCommand({ DryRun }),
  DescribeRouteTables: () => new ec2.DescribeRouteTablesCommand({ DryRun }),
  ModifyNetworkInterfaceAttribute: () =>
    new ec2.ModifyNetworkInterfaceAttributeCommand({ DryRun, NetworkInterfaceId: `eni-${none}`, SourceDestCheck }),
  DescribeSubnets: () => new ec2.DescribeSubnetsCommand({ DryRun }),
  DescribeVpcs: () => new ec2.DescribeVpcsCommand({ DryRun }),
  DescribeSecurityGroups: () => new ec2.DescribeSecurityGroupsCommand({ DryRun }),
  DescribeAccountAttributes: () => new ec2.DescribeAccountAttributesCommand({ DryRun }),
  DescribeInternetGateways: () => new ec2.DescribeInternetGatewaysCommand({ DryRun }),
  DescribeAddresses: () => new ec2.DescribeAddressesCommand({ DryRun }),
  CreateSecurityGroup: ({ owned }) => {
    const Tags = Object.entries(owned).map(([Key, Value]) => ({ Key, Value }));
    return new ec2.CreateSecurityGroupCommand({
      DryRun,
      VpcId: `vpc-${none}`,
      GroupName: 'mooring-check',
      Description: 'check',
      ...(Tags.length > 0 && { TagSpecifications: [{ ResourceType: 'security-group', Tags }] }),
    });
  },
};

/** No instance is asked for: where a dry run were none, it would get a tag. */
const ofInstances: Readonly<Record<string, () => Command>> = {
  CreateTags: () => new ec2.CreateTagsCommand({ DryRun, Resources: [InstanceId], Tags: [checkTag] }),
  DeleteTags: () => new ec2.DeleteTagsCommand({ DryRun, Resources: [InstanceId], Tags: [checkTag] }),
};

/**
 * How an action is proved; undefined for the changes of Elastic Load Balancing, which has no dry run.
 *
 * @param caller ARN of the credential, for the partition and the account
 */
export function iamProof(
  { action, of }: Pick<IamAction, 'action' | 'of'>,
  parts: Pick<AwsParts, 'ec2' | 'elbv2' | 'region'>,
  caller: string,
  samples: IamSamples,
): IamProof | undefined {
  const [service, name = ''] = action.split(':');
  if (service === 'ec2') {
    if (of === 'instances') return { calls: parts.ec2, command: ofInstances[name]!(), isVague: true };
    const sampled = aboutSamples[name]?.(samples);
    if (sampled) return { calls: parts.ec2, ...sampled };
    const command = dryRuns[name]?.(samples);
    return command && { calls: parts.ec2, command, isVague: false };
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
  const v2 = (command: SdkCommand<unknown>): IamProof => ({ calls: parts.elbv2(), command, isVague: false });
  return reads[name]?.();
}
