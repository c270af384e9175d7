import type { AccessRequest } from './policy.ts';

type Tags = Readonly<Record<string, string>>;
type Input = Readonly<Record<string, unknown>>;

/** A call as the SDK sends it. */
export interface AwsCall {
  readonly service: 'ec2' | 'elasticloadbalancing';
  readonly operation: string;
  readonly input: Input;
}

/** What carries which tags, by the last part of its ARN (`security-group/sg-1`, `loadbalancer/a1`). */
export type TagLedger = Map<string, Tags>;

const place: Readonly<Record<AwsCall['service'], string>> = {
  ec2: 'arn:aws:ec2:eu-west-1:123456789012:',
  elasticloadbalancing: 'arn:aws:elasticloadbalancing:eu-west-1:123456789012:',
};

const role = 'aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRoleForElasticLoadBalancing';
const newRole: AccessRequest = {
  action: 'iam:CreateServiceLinkedRole',
  resource: `arn:aws:iam::123456789012:role/${role}`,
  context: { 'iam:AWSServiceName': 'elasticloadbalancing.amazonaws.com' },
};

/** What Elastic Load Balancing reads with the caller's rights: its user guide, "API permissions". */
const readsFor: Readonly<Record<string, readonly string[]>> = {
  CreateLoadBalancer: [
    'DescribeAccountAttributes',
    'DescribeAddresses',
    'DescribeInternetGateways',
    'DescribeSecurityGroups',
    'DescribeSubnets',
    'DescribeVpcs',
  ],
  CreateTargetGroup: ['DescribeInternetGateways', 'DescribeVpcs'],
  RegisterTargets: ['DescribeInstances', 'DescribeInternetGateways', 'DescribeSubnets', 'DescribeVpcs'],
  SetIpAddressType: ['DescribeSubnets'],
  SetSubnets: ['DescribeSubnets'],
  ApplySecurityGroupsToLoadBalancer: ['DescribeAccountAttributes', 'DescribeSecurityGroups'],
  AttachLoadBalancerToSubnets: ['DescribeSubnets'],
  RegisterInstancesWithLoadBalancer: ['DescribeAccountAttributes', 'DescribeInstances'],
  DeregisterInstancesFromLoadBalancer: ['DescribeInstances'],
};

/**
 * What AWS evaluates for one call, by its service authorization reference: the resources of each action, and the
 * condition keys of each resource.
 */
export function requestsOf({ service, operation, input }: AwsCall, ledger: TagLedger): AccessRequest[] {
  const about = (resource: string, context: AccessRequest['context'] = {}, action = operation): AccessRequest => {
    const tags = Object.entries(ledger.get(resource.replace(place[service], '')) ?? {});
    const resourceTags = tags.map(([key, value]) => [`aws:ResourceTag/${key}`, value]);
    return { action: `${service}:${action}`, resource, context: { ...Object.fromEntries(resourceTags), ...context } };
  };
  if (operation.startsWith('Describe')) return [about('*')];
  const of = (kind: string, id: unknown) => `${place[service]}${kind}/${id}`;
  if (service === 'ec2') return ec2Requests(operation, input, about, of);

  const reads = (readsFor[operation] ?? []).map((read) => ({ action: `ec2:${read}`, resource: '*', context: {} }));
  const linked = operation === 'CreateLoadBalancer' ? [...reads, newRole] : reads;
  const arns = resourcesOf(input, of);
  if (!operation.startsWith('Create') || input['Tags'] === undefined) {
    if (arns.length === 0) throw new Error(`${operation}: about no resource`);
    const tags = operation === 'AddTags' || operation === 'RemoveTags' ? requestTags(input) : {};
    return [...linked, ...arns.map((arn) => about(arn, tags))];
  }
  const kinds: Readonly<Record<string, string>> = {
    CreateTargetGroup: `targetgroup/${input['Name']}`,
    CreateLoadBalancer: `loadbalancer/${input['LoadBalancerName'] ?? `net/${input['Name']}`}`,
    CreateListener: 'listener/net/new',
  };
  const made = `${place[service]}${kinds[operation]}/new`;
  const tags = requestTags(input);
  return [
    ...linked,
    ...(arns.length > 0 ? arns : [made]).map((arn) => about(arn, tags)),
    about(made, { ...tags, 'elasticloadbalancing:CreateAction': operation }, 'AddTags'),
  ];
}

type About = (resource: string, context?: AccessRequest['context'], action?: string) => AccessRequest;

function ec2Requests(
  operation: string,
  input: Input,
  about: About,
  of: (kind: string, id: unknown) => string,
): AccessRequest[] {
  switch (operation) {
    case 'CreateRoute':
    case 'DeleteRoute':
      return [about(of('route-table', input['RouteTableId']))];
    case 'ModifyInstanceAttribute':
      return [about(of('instance', input['InstanceId']), attributes(input))];
    case 'ModifyNetworkInterfaceAttribute':
      return [about(of('network-interface', input['NetworkInterfaceId']), attributes(input))];
    case 'AuthorizeSecurityGroupIngress':
    case 'RevokeSecurityGroupIngress':
    case 'DeleteSecurityGroup':
      return [about(of('security-group', input['GroupId']))];
    case 'CreateSecurityGroup': {
      const [specification] = input['TagSpecifications'] as { Tags: unknown }[];
      const tags = requestTags(specification as Input);
      const made = of('security-group', 'new');
      return [
        about(made, tags),
        about(of('vpc', input['VpcId'])),
        about(made, { ...tags, 'ec2:CreateAction': operation }, 'CreateTags'),
      ];
    }
    case 'CreateTags':
    case 'DeleteTags':
      return (input['Resources'] as string[]).map((id) => about(of(kindOf(id), id), requestTags(input)));
    default:
      throw new Error(`${operation} is not known here`);
  }
}

function kindOf(id: string): string {
  return id.startsWith('i-') ? 'instance' : 'security-group';
}

/** EC2 takes one attribute a call; the condition key has its name, and the value that it is set to. */
function attributes(input: Input): AccessRequest['context'] {
  const others = new Set(['InstanceId', 'NetworkInterfaceId', 'DryRun']);
  const set = Object.entries(input).filter(([key, value]) => !others.has(key) && value !== undefined);
  return Object.fromEntries(
    set.map(([key, value]) => [`ec2:Attribute/${key}`, String((value as { Value?: unknown }).Value ?? value)]),
  );
}

function requestTags({ Tags: tags, TagKeys }: Input): AccessRequest['context'] {
  const pairs = (tags ?? []) as { readonly Key: string; readonly Value?: string }[];
  const keys = [...pairs.map(({ Key }) => Key), ...((TagKeys as string[] | undefined) ?? [])];
  const values = pairs.flatMap(({ Key, Value }) => (Value === undefined ? [] : [[`aws:RequestTag/${Key}`, Value]]));
  return { ...Object.fromEntries(values), ...(keys.length > 0 && { 'aws:TagKeys': keys }) };
}

/** Of a call of either kind of load balancer: classic ones go by their names. */
function resourcesOf(input: Input, of: (kind: string, id: unknown) => string): string[] {
  const names = [input['LoadBalancerName'] ?? [], input['LoadBalancerNames'] ?? []].flat() as string[];
  const keys = ['ListenerArn', 'TargetGroupArn', 'LoadBalancerArn', 'ResourceArns'];
  const arns = keys.flatMap((key) => input[key] ?? []) as string[];
  return [...arns, ...names.map((name) => of('loadbalancer', name))];
}

/** Notes what a call that succeeded has tagged. */
export function noteTags(call: AwsCall, output: unknown, ledger: TagLedger): void {
  const { operation, input, service } = call;
  const short = (arn: string) => arn.replace(place.elasticloadbalancing, '');
  const given = (one: Input) =>
    Object.fromEntries(
      ((one['Tags'] ?? []) as { Key: string; Value?: string }[]).map(({ Key, Value = '' }) => [Key, Value]),
    );
  if (operation === 'CreateSecurityGroup') {
    const [specification] = input['TagSpecifications'] as Input[];
    ledger.set(`security-group/${(output as { GroupId: string }).GroupId}`, given(specification!));
    return;
  }
  if (operation.startsWith('Create') && input['Tags'] !== undefined && service === 'elasticloadbalancing') {
    const [list] = Object.values((output ?? {}) as Record<string, readonly Record<string, string>[] | string>);
    const made = typeof list === 'object' ? list[0]?.[`${operation.replace('Create', '')}Arn`] : undefined;
    ledger.set(made === undefined ? `loadbalancer/${input['LoadBalancerName']}` : short(made), given(input));
    return;
  }
  const resources =
    service === 'ec2'
      ? ((input['Resources'] ?? []) as string[]).map((id) => `${kindOf(id)}/${id}`)
      : resourcesOf(input, (kind, id) => `${kind}/${id}`).map(short);
  for (const resource of resources) {
    const before = ledger.get(resource) ?? {};
    if (operation === 'AddTags' || operation === 'CreateTags') ledger.set(resource, { ...before, ...given(input) });
    if (operation !== 'RemoveTags' && operation !== 'DeleteTags') continue;
    const gone = new Set([...((input['TagKeys'] ?? []) as string[]), ...Object.keys(given(input))]);
    ledger.set(resource, Object.fromEntries(Object.entries(before).filter(([key]) => !gone.has(key))));
  }
}
