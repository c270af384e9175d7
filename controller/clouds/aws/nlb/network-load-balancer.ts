import type { Tags } from '../load-balancer-tags.ts';

export interface Listener {
  readonly arn: string;
  readonly port: number;
  readonly protocol: string;
  readonly policy: string | undefined;
  readonly certificate: string | undefined;
  /** ARN of the target group that it forwards to; undefined where it does something else. */
  readonly group: string | undefined;
  readonly tags: Tags;
}

/** How the members of a target group are probed. */
export interface Health {
  readonly protocol: string;
  /** A number or `traffic-port`. */
  readonly port: string;
  /** Undefined with TCP. */
  readonly path: string | undefined;
  readonly healthy: number;
  readonly unhealthy: number;
  readonly interval: number;
  /** Seconds; undefined = whatever AWS has chosen. */
  readonly timeout: number | undefined;
}

export interface Target {
  /** Instance id or IP address. */
  readonly id: string;
  readonly providerID: string;
  /** Undefined while AWS does not know yet. */
  readonly healthy: boolean | undefined;
}

/** As lists show it. */
export interface TargetGroup {
  readonly arn: string;
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  readonly targetType: 'instance' | 'ip';
  readonly ipType: 'ipv4' | 'ipv6';
  readonly health: Health;
  /** ARNs of those whose listeners forward to it. */
  readonly loadBalancers: readonly string[];
  readonly tags: Tags;
}

/** Targets of a target group; no list shows them. */
export interface TargetList {
  /** Of the target group. */
  readonly name: string;
  /** Those that drain are not among them: AWS lets them go by itself. */
  readonly targets: readonly Target[];
}

/** Attributes of a load balancer or a target group; no list shows them. */
export interface AttributeList {
  /** Of what has them. */
  readonly name: string;
  readonly attributes: Tags;
}

/** Where a load balancer stands in one zone. */
export interface Place {
  readonly zone: string;
  readonly subnet: string;
  readonly eip: string | undefined;
  readonly privateAddress: string | undefined;
}

/** As lists show it; network ones, and others of the same API. */
export interface NetworkLoadBalancer {
  readonly arn: string;
  readonly name: string;
  /** `network` */
  readonly type: string;
  readonly hostname: string;
  readonly scheme: string;
  readonly state: 'active' | 'provisioning' | 'failed';
  readonly vpcId: string;
  readonly addressType: string;
  readonly places: readonly Place[];
  readonly securityGroups: readonly string[];
  readonly createdAtMs: number | undefined;
  readonly tags: Tags;
}

export function isNetwork(body: unknown): body is NetworkLoadBalancer {
  return typeof body === 'object' && body !== null && 'places' in body;
}
