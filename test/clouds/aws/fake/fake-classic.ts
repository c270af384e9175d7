import { AwsFault, pageOf, type SdkTag, sdkTags, setTags, type Wire } from './query.ts';
import { fewGroups } from './quotas.ts';
import { type FakeClassicBalancer, type FakeRegion, hold, tagsIn } from './region.ts';

type Listener = Omit<FakeClassicBalancer['listeners'][number], 'policies'>;

/** The parameters that the actions below read. */
interface Request {
  readonly LoadBalancerName: string;
  readonly LoadBalancerNames?: readonly string[];
  readonly Listeners?: readonly Listener[];
  readonly Subnets?: readonly string[];
  readonly SecurityGroups?: readonly string[];
  readonly Scheme?: string;
  readonly Tags?: readonly SdkTag[];
  readonly Instances?: readonly { readonly InstanceId: string }[];
  readonly LoadBalancerPorts?: readonly string[];
  readonly LoadBalancerPort?: string;
  readonly InstancePort?: string;
  readonly SSLCertificateId?: string;
  readonly PolicyName?: string;
  readonly PolicyTypeName?: string;
  readonly PolicyAttributes?: readonly object[];
  readonly PolicyNames?: readonly string[];
  readonly HealthCheck?: FakeClassicBalancer['health'];
  readonly LoadBalancerAttributes?: FakeClassicBalancer['attributes'];
  readonly Marker?: string;
  readonly PageSize?: string;
}

type Action = (region: FakeRegion, request: Request) => Wire;

/** As AWS gives them to a new load balancer. */
const defaultAttributes = {
  CrossZoneLoadBalancing: { Enabled: 'false' },
  AccessLog: { Enabled: 'false' },
  ConnectionDraining: { Enabled: 'false', Timeout: '300' },
  ConnectionSettings: { IdleTimeout: '60' },
};

/** The API of classic load balancers, version 2012-06-01. */
export const classicActions: Readonly<Record<string, Action>> = {
  CreateLoadBalancer(region, { LoadBalancerName: name, Listeners = [], Subnets: subnets = [], ...request }) {
    if (region.classic.has(name)) {
      throw new AwsFault('DuplicateLoadBalancerName', `The specified load balancer name already exists: ${name}`);
    }
    if (Listeners.length === 0) throw new AwsFault('ValidationError', 'Listeners cannot be empty');
    const groups = realGroups(region, request.SecurityGroups);
    const hostname = `${name}-${region.next()}.eu-west-1.elb.amazonaws.com`;
    region.classic.set(name, {
      name,
      hostname,
      groups,
      subnets: realSubnets(region, subnets),
      scheme: request.Scheme ?? 'internet-facing',
      vpcId: region.subnets.get(subnets[0] ?? '')?.vpcId ?? '',
      createdAt: new Date().toISOString(),
      listeners: Listeners.map(newListener),
      health: {
        Target: `TCP:${Listeners[0]!.InstancePort}`,
        Interval: '30',
        Timeout: '5',
        HealthyThreshold: '10',
        UnhealthyThreshold: '2',
      },
      policies: new Map(),
      backends: new Map(),
      instances: [],
      attributes: defaultAttributes,
      tags: tagsIn(request.Tags),
    });
    return { DNSName: hostname };
  },
  DeleteLoadBalancer(region, { LoadBalancerName }) {
    hold(region, region.classic.get(LoadBalancerName)?.groups ?? []);
    region.classic.delete(LoadBalancerName);
    return {};
  },
  DescribeLoadBalancers(region, { LoadBalancerNames: names, Marker, PageSize = '400' }) {
    const all = names?.map((name) => balancerOf(region, name)) ?? [...region.classic.values()];
    const { page, next } = pageOf(all, Marker, Math.min(Number(PageSize), region.pageSize));
    return { LoadBalancerDescriptions: page.map((one) => described(region, one)), NextMarker: next };
  },
  DescribeTags: (region, { LoadBalancerNames = [] }) => ({
    TagDescriptions: LoadBalancerNames.map((name) => ({
      LoadBalancerName: name,
      Tags: sdkTags(balancerOf(region, name).tags),
    })),
  }),
  AddTags(region, { LoadBalancerNames = [], Tags }) {
    for (const name of LoadBalancerNames) setTags(balancerOf(region, name).tags, Tags);
    return {};
  },
  RemoveTags(region, { LoadBalancerNames = [], Tags = [] }) {
    for (const name of LoadBalancerNames) for (const { Key } of Tags) balancerOf(region, name).tags.delete(Key);
    return {};
  },
  DescribeLoadBalancerAttributes: (region, { LoadBalancerName }) => ({
    LoadBalancerAttributes: balancerOf(region, LoadBalancerName).attributes,
  }),
  ModifyLoadBalancerAttributes(region, { LoadBalancerName, LoadBalancerAttributes = {} }) {
    const balancer = balancerOf(region, LoadBalancerName);
    const { ConnectionDraining: draining, ...others } = LoadBalancerAttributes;
    const changed = { ...others, ...(draining && { ConnectionDraining: { Timeout: '300', ...draining } }) };
    balancer.attributes = { ...balancer.attributes, ...changed };
    return { LoadBalancerName, LoadBalancerAttributes: changed };
  },
  ApplySecurityGroupsToLoadBalancer(region, { LoadBalancerName, SecurityGroups }) {
    const groups = realGroups(region, SecurityGroups);
    balancerOf(region, LoadBalancerName).groups = groups;
    return { SecurityGroups: groups };
  },
  AttachLoadBalancerToSubnets(region, { LoadBalancerName, Subnets = [] }) {
    const balancer = balancerOf(region, LoadBalancerName);
    balancer.subnets = attachedTo(region, balancer.subnets, Subnets);
    return { Subnets: balancer.subnets };
  },
  DetachLoadBalancerFromSubnets(region, { LoadBalancerName, Subnets = [] }) {
    const balancer = balancerOf(region, LoadBalancerName);
    balancer.subnets = detachedFrom(balancer.subnets, Subnets);
    return { Subnets: balancer.subnets };
  },
  ConfigureHealthCheck(region, { LoadBalancerName, HealthCheck = {} }) {
    balancerOf(region, LoadBalancerName).health = HealthCheck;
    return { HealthCheck };
  },
  CreateLoadBalancerListeners(region, { LoadBalancerName, Listeners = [] }) {
    const balancer = balancerOf(region, LoadBalancerName);
    const key = ({ Protocol, InstancePort, SSLCertificateId }: Listener) =>
      `${Protocol.toUpperCase()} ${InstancePort} ${SSLCertificateId}`;
    const added = Listeners.filter((listener) => {
      const there = balancer.listeners.find(({ LoadBalancerPort }) => LoadBalancerPort === listener.LoadBalancerPort);
      if (there === undefined) return true;
      if (key(there) === key(listener)) return false;
      const message =
        `A listener already exists for ${LoadBalancerName} with LoadBalancerPort ` + `${there.LoadBalancerPort}`;
      throw new AwsFault('DuplicateListener', message);
    });
    balancer.listeners = [...balancer.listeners, ...added.map(newListener)];
    return {};
  },
  DeleteLoadBalancerListeners(region, { LoadBalancerName, LoadBalancerPorts = [] }) {
    const balancer = balancerOf(region, LoadBalancerName);
    balancer.listeners = balancer.listeners.filter((one) => !LoadBalancerPorts.includes(one.LoadBalancerPort));
    return {};
  },
  SetLoadBalancerListenerSSLCertificate(region, { LoadBalancerName, LoadBalancerPort, SSLCertificateId = '' }) {
    listenerOf(balancerOf(region, LoadBalancerName), LoadBalancerPort).SSLCertificateId = SSLCertificateId;
    return {};
  },
  CreateLoadBalancerPolicy(region, { LoadBalancerName, PolicyName = '', PolicyTypeName = '', PolicyAttributes = [] }) {
    const { policies } = balancerOf(region, LoadBalancerName);
    if (policies.has(PolicyName)) {
      throw new AwsFault('DuplicatePolicyName', `Policy name ${PolicyName} already exists for ${LoadBalancerName}`);
    }
    policies.set(PolicyName, { type: PolicyTypeName, attributes: PolicyAttributes });
    return {};
  },
  SetLoadBalancerPoliciesOfListener(region, { LoadBalancerName, LoadBalancerPort, PolicyNames = [] }) {
    const balancer = balancerOf(region, LoadBalancerName);
    listenerOf(balancer, LoadBalancerPort).policies = realPolicies(balancer, PolicyNames);
    return {};
  },
  SetLoadBalancerPoliciesForBackendServer(region, { LoadBalancerName, InstancePort = '', PolicyNames = [] }) {
    const balancer = balancerOf(region, LoadBalancerName);
    if (PolicyNames.length === 0) balancer.backends.delete(InstancePort);
    else balancer.backends.set(InstancePort, realPolicies(balancer, PolicyNames));
    return {};
  },
  RegisterInstancesWithLoadBalancer(region, { LoadBalancerName, Instances = [] }) {
    const balancer = balancerOf(region, LoadBalancerName);
    balancer.instances = [...new Set([...balancer.instances, ...realInstances(region, Instances)])];
    return { Instances: balancer.instances.map((InstanceId) => ({ InstanceId })) };
  },
  DeregisterInstancesFromLoadBalancer(region, { LoadBalancerName, Instances = [] }) {
    const balancer = balancerOf(region, LoadBalancerName);
    const gone = realInstances(region, Instances);
    balancer.instances = balancer.instances.filter((id) => !gone.includes(id));
    return { Instances: balancer.instances.map((InstanceId) => ({ InstanceId })) };
  },
};

function described(region: FakeRegion, balancer: FakeClassicBalancer): Wire {
  const { name, hostname, scheme, vpcId, subnets, groups, policies, backends, health, instances } = balancer;
  return {
    LoadBalancerName: name,
    DNSName: hostname,
    CanonicalHostedZoneName: hostname,
    Scheme: scheme,
    VPCId: vpcId,
    Subnets: subnets,
    SecurityGroups: groups,
    HealthCheck: health,
    CreatedTime: balancer.createdAt,
    AvailabilityZones: subnets.map((id) => region.subnets.get(id)?.zone ?? ''),
    ListenerDescriptions: balancer.listeners.map(({ policies: its, ...listener }) => ({
      Listener: { ...listener },
      PolicyNames: its,
    })),
    Policies: { AppCookieStickinessPolicies: [], LBCookieStickinessPolicies: [], OtherPolicies: [...policies.keys()] },
    BackendServerDescriptions: [...backends].map(([InstancePort, PolicyNames]) => ({ InstancePort, PolicyNames })),
    Instances: instances.map((InstanceId) => ({ InstanceId })),
  };
}

function newListener(listener: Listener): FakeClassicBalancer['listeners'][number] {
  const { Protocol, InstanceProtocol = Protocol } = listener;
  return {
    ...listener,
    Protocol: Protocol.toUpperCase(),
    InstanceProtocol: InstanceProtocol.toUpperCase(),
    policies: [],
  };
}

function balancerOf({ classic }: FakeRegion, name: string): FakeClassicBalancer {
  const balancer = classic.get(name);
  if (balancer !== undefined) return balancer;
  throw new AwsFault('LoadBalancerNotFound', `There is no ACTIVE Load Balancer named '${name}'`);
}

function listenerOf({ name, listeners }: FakeClassicBalancer, port: string | undefined) {
  const listener = listeners.find(({ LoadBalancerPort }) => LoadBalancerPort === port);
  if (listener !== undefined) return listener;
  throw new AwsFault('ListenerNotFound', `LoadBalancer ${name} does not have a listener with port ${port}`);
}

function realGroups({ groups }: FakeRegion, ids: readonly string[] = []): readonly string[] {
  const missing = ids.find((id) => !groups.has(id));
  if (missing === undefined) return fewGroups(ids);
  throw new AwsFault('InvalidSecurityGroup', `The security group '${missing}' does not exist`);
}

function realSubnets({ subnets }: FakeRegion, ids: readonly string[]): readonly string[] {
  const missing = ids.find((id) => !subnets.has(id));
  if (missing === undefined) return ids;
  throw new AwsFault('SubnetNotFound', `The subnet ID '${missing}' does not exist`);
}

/** The subnets of a load balancer after others were attached: one in each zone. */
export function attachedTo(region: FakeRegion, there: readonly string[], more: readonly string[]): readonly string[] {
  const all = [...new Set([...there, ...realSubnets(region, more)])];
  if (new Set(all.map((id) => region.subnets.get(id)?.zone)).size === all.length) return all;
  throw new AwsFault('InvalidConfigurationRequest', 'ELB cannot be attached to multiple subnets in the same AZ.');
}

/** The same after some were detached: at least one. */
export function detachedFrom(there: readonly string[], gone: readonly string[]): readonly string[] {
  const left = there.filter((id) => !gone.includes(id));
  if (left.length > 0) return left;
  throw new AwsFault('InvalidConfigurationRequest', 'Cannot detach all subnets of a load balancer.');
}

function realInstances({ instances }: FakeRegion, given: readonly { readonly InstanceId: string }[]): string[] {
  const ids = given.map(({ InstanceId }) => InstanceId);
  const missing = ids.find((id) => !instances.has(id));
  if (missing === undefined) return ids;
  throw new AwsFault('InvalidInstance', `Could not find EC2 instance ${missing}.`);
}

function realPolicies({ name, policies }: FakeClassicBalancer, names: readonly string[]): readonly string[] {
  const missing = names.find((one) => !policies.has(one) && !one.startsWith('ELBSecurityPolicy-'));
  if (missing === undefined) return names;
  throw new AwsFault('PolicyNotFound', `There is no policy with name ${missing} for load balancer ${name}`);
}
