import { AwsFault, pageOf, type SdkTag, sdkTags, setTags, type Wire } from './query.ts';
import { fewGroups } from './quotas.ts';
import {
  type FakeListener,
  type FakeNetworkBalancer,
  type FakePlace,
  type FakeRegion,
  type FakeTargetGroup,
  hold,
  tagsIn,
} from './region.ts';

/** The parameters that the actions below read. */
interface Request {
  readonly Name?: string;
  readonly Names?: readonly string[];
  readonly LoadBalancerArn?: string;
  readonly LoadBalancerArns?: readonly string[];
  readonly TargetGroupArn?: string;
  readonly TargetGroupArns?: readonly string[];
  readonly ListenerArn?: string;
  readonly ListenerArns?: readonly string[];
  readonly ResourceArns?: readonly string[];
  readonly Type?: string;
  readonly Scheme?: string;
  readonly IpAddressType?: string;
  readonly Subnets?: readonly string[];
  readonly SubnetMappings?: readonly FakePlace[];
  readonly SecurityGroups?: readonly string[];
  readonly Tags?: readonly SdkTag[];
  readonly TagKeys?: readonly string[];
  readonly Attributes?: readonly SdkTag[];
  readonly Targets?: readonly { readonly Id: string }[];
  readonly Protocol?: string;
  readonly Port?: string;
  readonly VpcId?: string;
  readonly TargetType?: string;
  readonly DefaultActions?: readonly { readonly TargetGroupArn?: string }[];
  readonly Certificates?: readonly { readonly CertificateArn: string }[];
  readonly SslPolicy?: string;
  readonly HealthCheckProtocol?: string;
  readonly Marker?: string;
  readonly PageSize?: string;
}

type Action = (region: FakeRegion, request: Request) => Wire;

const arnPrefix = 'arn:aws:elasticloadbalancing:eu-west-1:123456789012';
const healthFields = [
  'HealthCheckProtocol',
  'HealthCheckPort',
  'HealthCheckPath',
  'HealthCheckIntervalSeconds',
  'HealthCheckTimeoutSeconds',
  'HealthyThresholdCount',
  'UnhealthyThresholdCount',
] as const;
const nothing = 'The specified load balancer does not exist.';

/** The API of network load balancers, version 2015-12-01. */
export const elbV2Actions: Readonly<Record<string, Action>> = {
  CreateLoadBalancer(region, { Name: name = '', Type = 'application', ...request }) {
    if ([...region.balancers.values()].some((one) => one.name === name)) {
      throw new AwsFault('DuplicateLoadBalancerName', 'A load balancer with the specified name already exists.');
    }
    const places = placesIn(region, request);
    const id = newHex(region);
    const arn = `${arnPrefix}:loadbalancer/${Type === 'network' ? 'net' : 'app'}/${name}/${id}`;
    const balancer: FakeNetworkBalancer = {
      arn,
      name,
      places,
      type: Type,
      groups: realGroups(region, request.SecurityGroups),
      hostname: `${name}-${id}.elb.eu-west-1.amazonaws.com`,
      scheme: request.Scheme ?? 'internet-facing',
      vpcId: region.subnets.get(places[0]?.SubnetId ?? '')?.vpcId ?? '',
      createdAt: new Date().toISOString(),
      addressType: request.IpAddressType ?? 'ipv4',
      attributes: new Map([
        ['access_logs.s3.enabled', 'false'],
        ['deletion_protection.enabled', 'false'],
        ['load_balancing.cross_zone.enabled', 'false'],
      ]),
      tags: tagsIn(request.Tags),
    };
    region.balancers.set(arn, balancer);
    return { LoadBalancers: [balancerItem(region, balancer, 'provisioning')] };
  },
  DeleteLoadBalancer(region, { LoadBalancerArn = '' }) {
    const { groups, attributes } = balancerOf(region, LoadBalancerArn);
    if (attributes.get('deletion_protection.enabled') === 'true') {
      throw new AwsFault('OperationNotPermitted', `Load balancer '${LoadBalancerArn}' cannot be deleted: protected`);
    }
    for (const { arn } of listenersOf(region, LoadBalancerArn)) region.listeners.delete(arn);
    region.balancers.delete(LoadBalancerArn);
    hold(region, groups);
    return {};
  },
  DescribeLoadBalancers(region, { LoadBalancerArns, Names, Marker, PageSize = '400' }) {
    const all = [...region.balancers.values()];
    const named = Names?.map((name) => all.find((one) => one.name === name) ?? missing(name));
    const hits = LoadBalancerArns?.map((arn) => balancerOf(region, arn)) ?? named ?? all;
    const { page, next } = pageOf(hits, Marker, Math.min(Number(PageSize), region.pageSize));
    return { LoadBalancers: page.map((one) => balancerItem(region, one, 'active')), NextMarker: next };
  },
  DescribeLoadBalancerAttributes: (region, { LoadBalancerArn = '' }) => ({
    Attributes: sdkTags(balancerOf(region, LoadBalancerArn).attributes),
  }),
  ModifyLoadBalancerAttributes(region, { LoadBalancerArn = '', Attributes }) {
    const { attributes } = balancerOf(region, LoadBalancerArn);
    setTags(attributes, Attributes);
    return { Attributes: sdkTags(attributes) };
  },
  SetSecurityGroups(region, { LoadBalancerArn = '', SecurityGroups }) {
    const balancer = balancerOf(region, LoadBalancerArn);
    const groups = realGroups(region, SecurityGroups);
    if ((balancer.groups.length === 0) !== (groups.length === 0)) {
      const message = 'You cannot add or remove all security groups of a load balancer after it was created.';
      throw new AwsFault('InvalidConfigurationRequest', message);
    }
    balancer.groups = groups;
    return { SecurityGroupIds: groups };
  },
  SetSubnets(region, { LoadBalancerArn = '', ...request }) {
    const balancer = balancerOf(region, LoadBalancerArn);
    const places = placesIn(region, request);
    const zoneOf = ({ SubnetId }: FakePlace) => region.subnets.get(SubnetId)!.zone;
    const isTaken = (place: FakePlace) =>
      balancer.places.some((old) => old.SubnetId !== place.SubnetId && zoneOf(old) === zoneOf(place));
    if (places.some(isTaken)) {
      const message =
        'You cannot specify an additional subnet from an Availability Zone that is already associated with the load ' +
        'balancer';
      throw new AwsFault('InvalidConfigurationRequest', message);
    }
    balancer.places = places;
    return { AvailabilityZones: zoneItems(region, balancer) };
  },
  SetIpAddressType(region, { LoadBalancerArn = '', IpAddressType = 'ipv4' }) {
    balancerOf(region, LoadBalancerArn).addressType = IpAddressType;
    return { IpAddressType };
  },
  CreateListener(region, { LoadBalancerArn = '', Port: port = '', Protocol: protocol = '', ...request }) {
    const { tags: _, arn: balancer } = balancerOf(region, LoadBalancerArn);
    if (listenersOf(region, balancer).some((one) => one.port === port)) {
      throw new AwsFault('DuplicateListener', 'A listener with the specified port already exists.');
    }
    const arn = `${balancer.replace(':loadbalancer/', ':listener/')}/${newHex(region)}`;
    const listener: FakeListener = {
      arn,
      balancer,
      port,
      protocol,
      group: forwardedTo(region, balancer, request),
      policy: request.SslPolicy,
      certificates: (request.Certificates ?? []).map(({ CertificateArn }) => CertificateArn),
      tags: tagsIn(request.Tags),
    };
    region.listeners.set(arn, listener);
    return { Listeners: [listenerItem(listener)] };
  },
  ModifyListener(region, { ListenerArn = '', Port, Protocol, SslPolicy, Certificates, ...request }) {
    const listener = listenerOf(region, ListenerArn);
    if (request.DefaultActions) listener.group = forwardedTo(region, listener.balancer, request);
    listener.port = Port ?? listener.port;
    listener.protocol = Protocol ?? listener.protocol;
    listener.policy = SslPolicy ?? listener.policy;
    listener.certificates = Certificates?.map(({ CertificateArn }) => CertificateArn) ?? listener.certificates;
    return { Listeners: [listenerItem(listener)] };
  },
  DeleteListener(region, { ListenerArn = '' }) {
    region.listeners.delete(listenerOf(region, ListenerArn).arn);
    return {};
  },
  DescribeListeners(region, { LoadBalancerArn, ListenerArns, Marker, PageSize = '400' }) {
    const ofOne = () => listenersOf(region, balancerOf(region, LoadBalancerArn ?? '').arn);
    const hits = ListenerArns?.map((arn) => listenerOf(region, arn)) ?? ofOne();
    const { page, next } = pageOf(hits, Marker, Math.min(Number(PageSize), region.pageSize));
    return { Listeners: page.map(listenerItem), NextMarker: next };
  },
  CreateTargetGroup(region, { Name: name = '', Protocol, Port, VpcId, TargetType = 'instance', ...request }) {
    if ([...region.targetGroups.values()].some((one) => one.name === name)) {
      throw new AwsFault('DuplicateTargetGroupName', 'A target group with the specified name already exists.');
    }
    const arn = `${arnPrefix}:targetgroup/${name}/${newHex(region)}`;
    const group: FakeTargetGroup = {
      arn,
      name,
      given: { Protocol, Port, VpcId, TargetType, IpAddressType: request.IpAddressType ?? 'ipv4' },
      health: checked({
        HealthCheckProtocol: 'TCP',
        HealthCheckPort: 'traffic-port',
        HealthCheckIntervalSeconds: '30',
        HealthCheckTimeoutSeconds: request.HealthCheckProtocol === 'HTTP' ? '6' : '10',
        HealthyThresholdCount: '5',
        UnhealthyThresholdCount: '2',
        ...healthIn(request),
      }),
      targets: new Map(),
      attributes: new Map([
        ['deregistration_delay.timeout_seconds', '300'],
        ['deregistration_delay.connection_termination.enabled', 'false'],
        ['stickiness.enabled', 'false'],
        ['stickiness.type', 'source_ip'],
        ['preserve_client_ip.enabled', String(TargetType === 'instance' || /UDP/.test(Protocol ?? ''))],
        ['proxy_protocol_v2.enabled', 'false'],
      ]),
      tags: tagsIn(request.Tags),
    };
    region.targetGroups.set(arn, group);
    return { TargetGroups: [groupItem(region, group)] };
  },
  ModifyTargetGroup(region, { TargetGroupArn = '', ...request }) {
    const group = groupOf(region, TargetGroupArn);
    group.health = checked({ ...group.health, ...healthIn(request) });
    return { TargetGroups: [groupItem(region, group)] };
  },
  DeleteTargetGroup(region, { TargetGroupArn = '' }) {
    if (usersOf(region, TargetGroupArn).length > 0) {
      throw new AwsFault(
        'ResourceInUse',
        `Target group '${TargetGroupArn}' is currently in use by a listener or a rule`,
      );
    }
    region.targetGroups.delete(TargetGroupArn);
    return {};
  },
  DescribeTargetGroups(region, { LoadBalancerArn, TargetGroupArns, Names, Marker, PageSize = '400' }) {
    const all = [...region.targetGroups.values()];
    const named = Names?.map((name) => all.find((one) => one.name === name) ?? groupOf(region, name));
    const arn = LoadBalancerArn && balancerOf(region, LoadBalancerArn).arn;
    const used = arn && all.filter((group) => usersOf(region, group.arn).includes(arn));
    const hits = TargetGroupArns?.map((one) => groupOf(region, one)) ?? named ?? (used || all);
    const { page, next } = pageOf(hits, Marker, Math.min(Number(PageSize), region.pageSize));
    return { TargetGroups: page.map((group) => groupItem(region, group)), NextMarker: next };
  },
  DescribeTargetGroupAttributes: (region, { TargetGroupArn = '' }) => ({
    Attributes: sdkTags(groupOf(region, TargetGroupArn).attributes),
  }),
  ModifyTargetGroupAttributes(region, { TargetGroupArn = '', Attributes }) {
    const { attributes } = groupOf(region, TargetGroupArn);
    setTags(attributes, Attributes);
    return { Attributes: sdkTags(attributes) };
  },
  RegisterTargets(region, { TargetGroupArn = '', Targets = [] }) {
    const group = groupOf(region, TargetGroupArn);
    const bad = Targets.filter(({ Id }) => Id.startsWith('i-') && region.instances.get(Id)?.state !== 'running');
    if (bad.length > 0) {
      const ids = bad.map(({ Id }) => `'${Id}'`).join(', ');
      throw new AwsFault('InvalidTarget', `The following targets are not in a running state or not valid: ${ids}`);
    }
    for (const { Id } of Targets) group.targets.set(Id, { draining: false });
    return {};
  },
  DeregisterTargets(region, { TargetGroupArn = '', Targets = [] }) {
    const group = groupOf(region, TargetGroupArn);
    const stranger = Targets.find(({ Id }) => !group.targets.has(Id));
    if (stranger !== undefined) {
      throw new AwsFault('InvalidTarget', `The following targets are not registered: '${stranger.Id}'`);
    }
    for (const { Id } of Targets) group.targets.set(Id, { draining: true });
    return {};
  },
  DescribeTargetHealth(region, { TargetGroupArn = '' }) {
    const group = groupOf(region, TargetGroupArn);
    const isUsed = usersOf(region, TargetGroupArn).length > 0;
    const items = [...group.targets].map(([Id, { draining, unhealthy }]): Wire => {
      const unused = { State: 'unused', Reason: 'Target.NotInUse' };
      const drains = { State: 'draining', Reason: 'Target.DeregistrationInProgress' };
      const TargetHealth = draining ? drains : isUsed ? { State: unhealthy ? 'unhealthy' : 'healthy' } : unused;
      return { Target: { Id, Port: group.given['Port'] }, TargetHealth };
    });
    return { TargetHealthDescriptions: items };
  },
  DescribeTags: (region, { ResourceArns = [] }) => ({
    TagDescriptions: ResourceArns.map((arn) => ({ ResourceArn: arn, Tags: sdkTags(tagsOf(region, arn)) })),
  }),
  AddTags(region, { ResourceArns = [], Tags }) {
    for (const arn of ResourceArns) setTags(tagsOf(region, arn), Tags);
    return {};
  },
  RemoveTags(region, { ResourceArns = [], TagKeys = [] }) {
    for (const arn of ResourceArns) for (const key of TagKeys) tagsOf(region, arn).delete(key);
    return {};
  },
};

function newHex(region: FakeRegion): string {
  return region.next().toString(16).padStart(16, '0');
}

function healthIn(request: Request): FakeTargetGroup['health'] {
  const given = request as Readonly<Record<string, string>>;
  return Object.fromEntries(healthFields.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])));
}

function checked(health: FakeTargetGroup['health']): FakeTargetGroup['health'] {
  const [interval, timeout] = [health['HealthCheckIntervalSeconds'], health['HealthCheckTimeoutSeconds']].map(Number);
  if (interval! >= timeout!) return health;
  throw new AwsFault('ValidationError', 'Health check interval must be greater than or equal to the timeout.');
}

function tagsOf(region: FakeRegion, arn: string): Map<string, string> {
  if (arn.includes(':loadbalancer/')) return balancerOf(region, arn).tags;
  return (arn.includes(':listener/') ? listenerOf(region, arn) : groupOf(region, arn)).tags;
}

function missing(name: string): never {
  throw new AwsFault('LoadBalancerNotFound', `Load balancers '[${name}]' not found`);
}

function balancerOf({ balancers }: FakeRegion, arn: string): FakeNetworkBalancer {
  const balancer = balancers.get(arn);
  if (balancer === undefined) throw new AwsFault('LoadBalancerNotFound', nothing);
  return balancer;
}

function listenerOf({ listeners }: FakeRegion, arn: string): FakeListener {
  const listener = listeners.get(arn);
  if (listener === undefined) throw new AwsFault('ListenerNotFound', 'The specified listener does not exist.');
  return listener;
}

function listenersOf({ listeners }: FakeRegion, balancer: string): FakeListener[] {
  return [...listeners.values()].filter((one) => one.balancer === balancer);
}

function groupOf({ targetGroups }: FakeRegion, arn: string): FakeTargetGroup {
  const group = targetGroups.get(arn);
  if (group === undefined) throw new AwsFault('TargetGroupNotFound', 'One or more target groups not found');
  return group;
}

/** ARNs of the load balancers whose listeners forward to it. */
function usersOf({ listeners }: FakeRegion, group: string): string[] {
  return [...new Set([...listeners.values()].filter((one) => one.group === group).map(({ balancer }) => balancer))];
}

function forwardedTo(region: FakeRegion, balancer: string, { DefaultActions = [] }: Request): string {
  const { arn } = groupOf(region, DefaultActions[0]?.TargetGroupArn ?? '');
  if (usersOf(region, arn).every((one) => one === balancer)) return arn;
  const message = `The following target groups cannot be associated with more than one load balancer: ${arn}`;
  throw new AwsFault('TargetGroupAssociationLimit', message);
}

function placesIn({ subnets }: FakeRegion, { Subnets = [], SubnetMappings }: Request): readonly FakePlace[] {
  const places = SubnetMappings ?? Subnets.map((SubnetId) => ({ SubnetId }));
  const gone = places.find(({ SubnetId }) => !subnets.has(SubnetId));
  const zones = new Set(places.map(({ SubnetId }) => subnets.get(SubnetId)?.zone));
  if (gone === undefined && zones.size < places.length) {
    const message = 'A load balancer cannot be attached to multiple subnets in the same Availability Zone';
    throw new AwsFault('InvalidConfigurationRequest', message);
  }
  if (gone === undefined && places.length > 0) return places;
  throw new AwsFault('SubnetNotFound', `The subnet ID '${gone?.SubnetId ?? ''}' does not exist`);
}

function realGroups({ groups }: FakeRegion, ids: readonly string[] = []): readonly string[] {
  const gone = ids.find((id) => !groups.has(id));
  if (gone === undefined) return fewGroups(ids);
  throw new AwsFault('InvalidSecurityGroup', `The security group '${gone}' does not exist`);
}

function balancerItem(region: FakeRegion, balancer: FakeNetworkBalancer, state: string): Wire {
  const { arn, name, hostname, scheme, type, vpcId, createdAt, addressType, groups } = balancer;
  return {
    LoadBalancerArn: arn,
    LoadBalancerName: name,
    DNSName: hostname,
    Scheme: scheme,
    Type: type,
    VpcId: vpcId,
    State: { Code: state },
    CreatedTime: createdAt,
    IpAddressType: addressType,
    SecurityGroups: groups,
    AvailabilityZones: zoneItems(region, balancer),
  };
}

function zoneItems({ subnets }: FakeRegion, { places }: FakeNetworkBalancer): Wire[] {
  return places.map(({ SubnetId, ...address }) => ({
    SubnetId,
    ZoneName: subnets.get(SubnetId)?.zone,
    LoadBalancerAddresses: Object.keys(address).length > 0 ? [{ ...address }] : [],
  }));
}

function listenerItem({ arn, balancer, port, protocol, group, certificates, policy }: FakeListener): Wire {
  return {
    ListenerArn: arn,
    LoadBalancerArn: balancer,
    Port: port,
    Protocol: protocol,
    SslPolicy: policy,
    DefaultActions: [{ Type: 'forward', TargetGroupArn: group }],
    Certificates: certificates.map((CertificateArn) => ({ CertificateArn })),
  };
}

function groupItem(region: FakeRegion, { arn, name, given, health }: FakeTargetGroup): Wire {
  const users = usersOf(region, arn);
  return { TargetGroupArn: arn, TargetGroupName: name, ...given, ...health, LoadBalancerArns: users };
}
