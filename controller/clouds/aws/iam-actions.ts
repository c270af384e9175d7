import type { Capability } from '../cloud.ts';

/** One permission that the controller's role needs. */
export interface IamAction {
  /** `ec2:DescribeInstances`. */
  readonly action: string;
  /** Of what, where the role needs it of several kinds of things. */
  readonly of?: 'instances';
  /** Nothing here sends it: AWS asks whether the caller may, before it does this for an operation that is sent. */
  readonly isForAws?: true;
  readonly capabilities: readonly Capability[];
  /** What is not done without it. */
  readonly without: string;
}

const balancers: readonly Capability[] = ['load balancers'];
const ofBalancers = (service: 'ec2' | 'elasticloadbalancing', without: string, ...names: readonly string[]) =>
  names.map((name): IamAction => ({ action: `${service}:${name}`, capabilities: balancers, without }));

const forAws = (action: string, without: string): IamAction => ({
  action,
  capabilities: balancers,
  without,
  isForAws: true,
});

/**
 * Every operation that this cloud's code sends, but those of STS, whose permission is the role's trust policy, and what
 * AWS does on behalf of them.
 */
export const iamActions: readonly IamAction[] = [
  {
    action: 'ec2:DescribeInstances',
    capabilities: ['nodes', 'routes', 'load balancers'],
    without: 'nodes cannot be looked up, and nothing else works',
  },
  { action: 'ec2:DescribeAvailabilityZones', capabilities: ['nodes'], without: 'nodes go without the zone-id label' },
  {
    action: 'ec2:DescribeInstanceTopology',
    capabilities: ['nodes'],
    without: 'nodes of the types that have network layers go without those labels',
  },
  { action: 'ec2:DescribeVolumes', capabilities: ['volumes'], without: 'PersistentVolumes get no zone and region' },
  {
    action: 'ec2:DescribeRouteTables',
    capabilities: ['routes', 'load balancers'],
    without: 'there are no pod routes, and public subnets are not told from private ones',
  },
  { action: 'ec2:CreateRoute', capabilities: ['routes'], without: 'no pod routes are made' },
  { action: 'ec2:DeleteRoute', capabilities: ['routes'], without: 'pod routes of gone nodes stay' },
  {
    action: 'ec2:ModifyInstanceAttribute',
    capabilities: ['routes'],
    without: 'instances drop packets of pods until their check of source and destination is turned off',
  },
  {
    action: 'ec2:ModifyNetworkInterfaceAttribute',
    capabilities: ['routes'],
    without: 'the same for instances with several interfaces',
  },
  ...ofBalancers('ec2', 'load balancers find no network', 'DescribeSubnets', 'DescribeVpcs', 'DescribeSecurityGroups'),
  ...ofBalancers(
    'ec2',
    'load balancers get no security groups, and nodes do not let them in',
    'CreateSecurityGroup',
    'DeleteSecurityGroup',
    'AuthorizeSecurityGroupIngress',
    'RevokeSecurityGroupIngress',
    'CreateTags',
    'DeleteTags',
  ),
  ...['CreateTags', 'DeleteTags'].map(
    (name): IamAction => ({
      action: `ec2:${name}`,
      of: 'instances',
      capabilities: ['node tags'],
      without: 'the tags of --tags are not set or not removed',
    }),
  ),
  ...ofBalancers(
    'elasticloadbalancing',
    'load balancers are not seen',
    'DescribeLoadBalancers',
    'DescribeLoadBalancerAttributes',
    'DescribeTags',
    'DescribeListeners',
    'DescribeTargetGroups',
    'DescribeTargetGroupAttributes',
    'DescribeTargetHealth',
  ),
  ...ofBalancers(
    'elasticloadbalancing',
    'load balancers are not made, changed or removed',
    'CreateLoadBalancer',
    'DeleteLoadBalancer',
    'ModifyLoadBalancerAttributes',
    'SetSecurityGroups',
    'SetSubnets',
    'SetIpAddressType',
    'CreateListener',
    'ModifyListener',
    'DeleteListener',
    'AddTags',
    'RemoveTags',
    'CreateTargetGroup',
    'ModifyTargetGroup',
    'ModifyTargetGroupAttributes',
    'DeleteTargetGroup',
    'RegisterTargets',
    'DeregisterTargets',
  ),
  ...ofBalancers(
    'elasticloadbalancing',
    'classic load balancers are not made or changed',
    'CreateLoadBalancerListeners',
    'DeleteLoadBalancerListeners',
    'AttachLoadBalancerToSubnets',
    'DetachLoadBalancerFromSubnets',
    'ApplySecurityGroupsToLoadBalancer',
    'ConfigureHealthCheck',
    'CreateLoadBalancerPolicy',
    'SetLoadBalancerPoliciesOfListener',
    'SetLoadBalancerPoliciesForBackendServer',
    'SetLoadBalancerListenerSSLCertificate',
    'RegisterInstancesWithLoadBalancer',
    'DeregisterInstancesFromLoadBalancer',
  ),
  forAws('ec2:DescribeAccountAttributes', "the account's first load balancer is not made"),
  forAws('ec2:DescribeInternetGateways', "the account's first load balancer is not made"),
  forAws('ec2:DescribeAddresses', 'load balancers with Elastic IP addresses are not made'),
  forAws('iam:CreateServiceLinkedRole', "the account's first load balancer is not made"),
];
