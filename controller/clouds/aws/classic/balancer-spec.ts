import type { Tags } from '../load-balancer-tags.ts';
import type { Attributes, ClassicLoadBalancer, HealthCheck, Listener } from './classic-load-balancer.ts';

export interface Member {
  /** Of the instance. */
  readonly id: string;
  readonly providerID: string;
}

/** What one Service asks of its classic load balancer. Undefined = not understood, or not known yet: it stays. */
export interface BalancerSpec {
  readonly name: string;
  /** `namespace/name` */
  readonly service: string;
  readonly internal: boolean | undefined;
  /** Ids or Name tags, for one that is still to be made; empty = discovered. */
  readonly namedSubnets: readonly string[];
  /** Ids, for one that stands. */
  readonly subnets: readonly string[] | undefined;
  /** Ids; names of resources that are still to be made. */
  readonly groups: readonly string[];
  readonly listeners: readonly Listener[] | undefined;
  /** Name of a predefined security policy. */
  readonly sslPolicy: string | undefined;
  readonly proxyProtocol: boolean | undefined;
  readonly attributes: Attributes;
  readonly health: HealthCheck | undefined;
  /** Beside the owner's. */
  readonly tags: Tags;
  /** Everything that may be a member. */
  readonly members: readonly Member[];
  /** Of these, what is to be registered. Of the others, what is there stays. */
  readonly joining: readonly Member[];
}

/** As it is right after it was made. */
export function freshBalancer(spec: BalancerSpec): ClassicLoadBalancer {
  return {
    name: spec.name,
    hostname: '',
    scheme: spec.internal ? 'internal' : 'internet-facing',
    subnets: spec.subnets ?? [],
    securityGroups: spec.groups,
    listeners: (spec.listeners ?? []).map((listener) => ({ ...listener, policies: [] })),
    policies: [],
    backendPolicies: new Map(),
    health: undefined,
    instances: [],
    createdAtMs: undefined,
    tags: {},
    attributes: {},
  };
}
