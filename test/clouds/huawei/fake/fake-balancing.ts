import type { Json } from '../../fake-http.ts';

/** The wire's own fields, as the lists show them. */
export type Wire = { [name: string]: unknown } & { readonly id: string };

/** What ELB, EIP and VPC have besides servers and route tables. */
export interface FakeBalancing {
  readonly loadbalancers: Map<string, Wire>;
  readonly listeners: Map<string, Wire>;
  readonly pools: Map<string, Wire>;
  /** By their own ids; `pool` says whose they are. */
  readonly members: Map<string, Wire & { readonly pool: string }>;
  readonly healthmonitors: Map<string, Wire>;
  readonly ipgroups: Map<string, Wire>;
  readonly eips: Map<string, FakeEip>;
  readonly subnets: FakeSubnet[];
}

export interface FakeEip {
  readonly id: string;
  readonly address: string;
  readonly type: string;
  readonly bandwidth: Json;
  alias: string;
  description: string;
  /** Id of the load balancer that it is on; empty for none. */
  on: string;
}

export interface FakeSubnet {
  readonly id: string;
  readonly vpc: string;
  readonly name: string;
  readonly cidr: string;
  /** By which ELB knows it. */
  readonly neutron: string;
}

export function emptyBalancing(subnets: FakeSubnet[]): FakeBalancing {
  return {
    loadbalancers: new Map(),
    listeners: new Map(),
    pools: new Map(),
    members: new Map(),
    healthmonitors: new Map(),
    ipgroups: new Map(),
    eips: new Map(),
    subnets,
  };
}

/** Id of the first that it names there: `pools`, `loadbalancers`. */
export function firstOf(one: Wire, name: string): string {
  return ((one[name] ?? []) as readonly Wire[])[0]?.id ?? '';
}
