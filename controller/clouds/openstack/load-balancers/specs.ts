import type { ResourceName } from '../../../engine/resource.ts';
import type { Placement } from '../load-balancer-config.ts';
import type { MonitorTimes, Pool, Timeouts } from './octavia-answer.ts';

/** What a Service asks of a load balancer of its own. */
export interface LoadBalancerSpec {
  /** Also the classic controller's tag. */
  readonly name: string;
  readonly description: string;
  /** `namespace/name`. */
  readonly service: string;
  readonly provider: string;
  readonly flavorId: string | undefined;
  readonly availabilityZone: string | undefined;
  readonly vipAddress: string | undefined;
  readonly vipPortId: string | undefined;
  readonly placement: Pick<Placement, 'networkId' | 'subnetId'>;
  /** In whose subnet the VIP goes where neither network nor subnet is named. */
  readonly near: readonly { readonly server: string; readonly address: string }[];
  /** Shown in place of the address; empty = none, undefined = as it is. */
  readonly hostname: string | undefined;
  /** Whether the VIP is the address; undefined = as it is. */
  readonly vip: boolean | undefined;
  /** Until the first change, the classic controller's tags are enough. */
  readonly isClassic: boolean;
}

export interface NewMember {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly weight: number;
  readonly monitorPort: number | undefined;
  /** Undefined: that of the VIP. */
  readonly subnetId: string | undefined;
  readonly providerID: string;
}

export interface NewMonitor extends MonitorTimes {
  readonly name: string;
  readonly type: string;
  /** Of an HTTP check, which expects 200. */
  readonly path: string | undefined;
}

/** A pool with what is in it. */
export interface PoolSpec {
  readonly name: string;
  readonly protocol: string;
  /** Undefined = as it is. */
  readonly algorithm: string | undefined;
  /** Of a pool that is made while the one that is asked for is not understood. */
  readonly usualAlgorithm: string;
  readonly persistence: Pool['persistence'];
  readonly members: readonly NewMember[];
  /** `none` = members are not checked; undefined = as it is. */
  readonly monitor: NewMonitor | 'none' | undefined;
  readonly tags: readonly string[];
}

/** Fields that are undefined stay as they are. */
export interface ListenerSpec {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  readonly connectionLimit: number | undefined;
  readonly tlsRef: string | undefined;
  readonly forwardedFor: boolean | undefined;
  readonly timeouts: Timeouts | undefined;
  readonly allowedCidrs: readonly string[] | undefined;
  readonly pool: ResourceName;
  readonly tags: readonly string[];
}
