import type { ResourceName } from '../../engine/resource.ts';
import type { IpFamily } from '../load-balancers.ts';
import type { Listener, Pool, Scheme } from './load-balancer-answer.ts';
import type { MemberSet } from './member-sets.ts';

/** What a Service asks of an address. */
export interface AddressSpec {
  readonly scheme: Scheme;
  readonly family: IpFamily;
  /** That it is found by. */
  readonly name: string;
  /** `namespace/name`. */
  readonly service: string;
}

export interface LoadBalancerSpec {
  readonly name: string;
  /** `namespace/name`. */
  readonly service: string;
  readonly scheme: Scheme;
  readonly families: readonly IpFamily[];
  /** Addresses that it gets; a family without one has an address that comes and goes with it. */
  readonly addresses: Readonly<Partial<Record<IpFamily, ResourceName>>>;
}

export interface PoolSpec {
  readonly name: string;
  readonly service: string;
  /** Undefined = not understood: what is there stays. */
  readonly healthCheck: Pool['healthCheck'];
  readonly sessionAffinity: Pool['sessionAffinity'];
  readonly members: MemberSet | undefined;
}

/** Fields that are undefined were not understood: what is there stays. */
export interface ListenerSpec extends Pick<Listener, 'name' | 'protocol' | 'port' | 'memberPort' | 'sourceRanges'> {
  readonly service: string;
  readonly proxyProtocol: boolean | undefined;
  readonly tls: boolean | undefined;
  readonly pool: ResourceName;
}
