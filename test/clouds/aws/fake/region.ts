import type { SdkTag } from './query.ts';

export interface FakeInterface {
  readonly id?: string;
  readonly sourceDestCheck?: boolean;
  readonly deviceIndex?: number;
  /** Of the network card. */
  readonly cardIndex?: number;
  readonly status?: string;
  readonly privateIps: readonly string[];
  readonly ipv6?: readonly string[];
}

export interface FakeInstance {
  readonly id: string;
  /** Left out of the answer when undefined. */
  readonly state?: string | undefined;
  readonly zone?: string;
  readonly type?: string;
  readonly privateDnsName?: string;
  readonly publicDnsName?: string;
  readonly publicIp?: string;
  /** Default true, as EC2 makes instances. */
  readonly sourceDestCheck?: boolean;
  readonly tags?: Readonly<Record<string, string>>;
  readonly vpcId?: string;
  /** Ids of security groups. */
  readonly groups?: readonly string[];
  readonly interfaces?: readonly FakeInterface[];
}

export interface FakeRoute {
  readonly instance?: string;
  readonly interfaceId?: string;
  readonly gateway?: string;
}

export interface FakeRouteTable {
  readonly id: string;
  readonly tags: Readonly<Record<string, string>>;
  /** Default `vpc-1`. */
  readonly vpcId?: string;
  /** Ids of the subnets that use it; default none. */
  readonly subnets?: Set<string>;
  /** By destination. */
  readonly routes: Map<string, FakeRoute>;
}

export interface FakeSubnet {
  readonly id: string;
  readonly vpcId: string;
  readonly zone: string;
  readonly cidr: string;
  readonly tags: Map<string, string>;
}

/** One rule: protocol, ports (`-1` or undefined where there are none) and one source. */
export interface FakeRule {
  readonly protocol: string;
  readonly fromPort: string | undefined;
  readonly toPort: string | undefined;
  /** CIDR of either family, id of a security group, or id of a prefix list. */
  readonly source: string;
  readonly description: string | undefined;
}

export interface FakeSecurityGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly vpcId: string;
  readonly tags: Map<string, string>;
  ingress: readonly FakeRule[];
}

/** A listener of a classic load balancer, as the wire names it. */
export interface FakeClassicListener {
  readonly Protocol: string;
  readonly LoadBalancerPort: string;
  readonly InstanceProtocol?: string;
  readonly InstancePort: string;
  SSLCertificateId?: string;
  policies: readonly string[];
}

export interface FakeClassicBalancer {
  readonly name: string;
  readonly hostname: string;
  readonly scheme: string;
  readonly vpcId: string;
  readonly createdAt: string;
  subnets: readonly string[];
  groups: readonly string[];
  listeners: readonly FakeClassicListener[];
  /** Names of its own policies. */
  readonly policies: Map<string, { readonly type: string; readonly attributes: readonly object[] }>;
  /** Names of policies by the port of the instances. */
  readonly backends: Map<string, readonly string[]>;
  health: Readonly<Record<string, string>>;
  /** Ids. */
  instances: readonly string[];
  attributes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly tags: Map<string, string>;
}

/** A listener of a network load balancer. */
export interface FakeListener {
  readonly arn: string;
  readonly balancer: string;
  port: string;
  protocol: string;
  /** ARN of the target group that it forwards to. */
  group: string;
  certificates: readonly string[];
  policy: string | undefined;
  readonly tags: Map<string, string>;
}

export interface FakeTargetGroup {
  readonly arn: string;
  readonly name: string;
  /** Protocol, port, type and VPC as they were given, with the API's names. */
  readonly given: Readonly<Record<string, string | undefined>>;
  /** The health check, with the API's names. */
  health: Readonly<Record<string, string | undefined>>;
  /** Whether it drains, or fails its probe, by instance id or IP address. */
  readonly targets: Map<string, { readonly draining: boolean; readonly unhealthy?: true }>;
  readonly attributes: Map<string, string>;
  readonly tags: Map<string, string>;
}

export interface FakeNetworkBalancer {
  readonly arn: string;
  readonly name: string;
  readonly hostname: string;
  readonly scheme: string;
  readonly type: string;
  readonly vpcId: string;
  readonly createdAt: string;
  addressType: string;
  /** One for each zone, as they were given. */
  places: readonly FakePlace[];
  groups: readonly string[];
  readonly attributes: Map<string, string>;
  readonly tags: Map<string, string>;
}

export interface FakePlace {
  readonly SubnetId: string;
  readonly AllocationId?: string;
  readonly PrivateIPv4Address?: string;
}

/** Everything that stands in the fake's one region and account. */
export interface FakeRegion {
  readonly instances: Map<string, FakeInstance>;
  /** Zones by id. */
  readonly volumes: Map<string, string>;
  readonly tables: Map<string, FakeRouteTable>;
  readonly subnets: Map<string, FakeSubnet>;
  readonly groups: Map<string, FakeSecurityGroup>;
  /** By name. */
  readonly classic: Map<string, FakeClassicBalancer>;
  /** By ARN. */
  readonly balancers: Map<string, FakeNetworkBalancer>;
  readonly listeners: Map<string, FakeListener>;
  readonly targetGroups: Map<string, FakeTargetGroup>;
  /**
   * Security groups whose load balancer is gone while its network interfaces stay: how often EC2 still refuses to
   * delete each.
   */
  readonly held: Map<string, number>;
  /** How often a security group cannot be deleted after its load balancer is gone. */
  holds: number;
  /** How many routes a table takes. */
  routeLimit: number;
  /** How many items a page has at most, whatever the request says. */
  pageSize: number;
  /** The next number of its own: ids and host names are never given twice. */
  next(): number;
}

export function newRegion(): FakeRegion {
  let last = 0;
  return {
    instances: new Map(),
    volumes: new Map(),
    tables: new Map(),
    subnets: new Map(),
    groups: new Map(),
    classic: new Map(),
    balancers: new Map(),
    listeners: new Map(),
    targetGroups: new Map(),
    held: new Map(),
    holds: 1,
    routeLimit: 50,
    pageSize: 1000,
    next: () => {
      last += 1;
      return last;
    },
  };
}

/** `sg-0000000000000001f` */
export function newId(region: FakeRegion, prefix: string): string {
  return `${prefix}-${region.next().toString(16).padStart(17, '0')}`;
}

/** A load balancer that carried these groups is gone; its network interfaces hold them for a while. */
export function hold(region: FakeRegion, groups: readonly string[]): void {
  if (region.holds > 0) for (const group of groups) region.held.set(group, region.holds);
}

export function tagsIn(given: readonly SdkTag[] = []): Map<string, string> {
  return new Map(given.map(({ Key, Value = '' }) => [Key, Value]));
}
