import type { ClassicLoadBalancer } from './classic-load-balancer.ts';
import type { ClassicSettings } from './settings.ts';

export interface Member {
  /** Of the instance. */
  readonly id: string;
  readonly providerID: string;
}

type Understood = Pick<ClassicSettings, 'internal' | 'listeners' | 'sslPolicy' | 'proxyProtocol' | 'health' | 'tags'>;

/** What one Service asks of its classic load balancer. Undefined = not understood, or not known yet: it stays. */
export interface BalancerSpec extends Understood {
  readonly name: string;
  /** `namespace/name` */
  readonly service: string;
  /** Ids or Name tags, for one that is still to be made; empty = discovered. */
  readonly namedSubnets: readonly string[];
  /** Ids, for one that stands. */
  readonly subnets: readonly string[] | undefined;
  /** By the id of a subnet to attach, the one of the same zone that it stands in. */
  readonly exchanged: Readonly<Record<string, string>>;
  /** Ids; names of resources that are still to be made. */
  readonly groups: readonly string[];
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
  };
}
