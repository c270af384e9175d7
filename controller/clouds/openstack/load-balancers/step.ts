import type { LoadBalancerStep } from '../../load-balancer-step.ts';
import type { Placement } from '../load-balancer-config.ts';
import type { Timeouts } from './answer.ts';
import type { Subject } from './observed.ts';

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

export interface NewMonitor {
  readonly name: string;
  readonly type: string;
  readonly delay: number;
  readonly timeout: number;
  readonly maxRetries: number;
  readonly maxRetriesDown: number;
  /** Of an HTTP check, which expects 200. */
  readonly path: string | undefined;
}

export interface NewPool {
  readonly name: string;
  readonly protocol: string;
  readonly algorithm: string;
  readonly persistence: string | undefined;
  readonly persistenceTimeout: number | undefined;
  readonly tags: readonly string[];
}

export interface NewListener {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  readonly connectionLimit: number | undefined;
  readonly tlsRef: string | undefined;
  readonly forwardedFor: boolean;
  readonly timeouts: Timeouts | undefined;
  /** Undefined: the driver has none. */
  readonly allowedCidrs: readonly string[] | undefined;
  readonly tags: readonly string[];
}

/** A listener with everything behind it. */
export interface NewPort {
  readonly listener: NewListener;
  readonly pool: NewPool;
  readonly members: readonly NewMember[];
  readonly monitor: NewMonitor | undefined;
}

export interface NewLoadBalancer {
  readonly name: string;
  readonly description: string;
  readonly provider: string;
  readonly flavorId: string | undefined;
  readonly availabilityZone: string | undefined;
  readonly vipAddress: string | undefined;
  readonly vipPortId: string | undefined;
  readonly placement: Pick<Placement, 'networkId' | 'subnetId'>;
  /** In whose subnet the VIP goes where neither network nor subnet is named. */
  readonly near: readonly { readonly server: string; readonly address: string }[];
  readonly tags: readonly string[];
  /** Empty where the provider takes them one by one. */
  readonly ports: readonly NewPort[];
}

export interface NewFloatingIp {
  readonly networkId: string;
  readonly subnetId: string | undefined;
  readonly address: string | undefined;
  readonly portId: string | undefined;
  readonly description: string;
}

export interface NewRule {
  readonly ethertype: 'IPv4' | 'IPv6';
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly port: number;
  readonly prefix: string;
}

export type ListenerChange = Partial<
  Pick<NewListener, 'connectionLimit' | 'tlsRef' | 'forwardedFor' | 'timeouts' | 'allowedCidrs' | 'tags'> & {
    readonly poolId: string;
  }
>;
/** null = none from now on. */
export interface PoolChange {
  readonly algorithm?: string;
  readonly persistence?: { readonly type: string; readonly timeout: number | undefined } | null;
  readonly tags?: readonly string[];
}

/** The one request of a step. Where a piece is to be made by an earlier step, its id is undefined and `portTag` says which it is. */
export type StepCall =
  | { readonly does: 'create load balancer'; readonly body: NewLoadBalancer }
  | { readonly does: 'update load balancer'; readonly id: string; readonly tags: readonly string[] }
  | { readonly does: 'fail over load balancer'; readonly id: string }
  | { readonly does: 'delete load balancer'; readonly id: string; readonly cascade: boolean }
  | { readonly does: 'create pool'; readonly loadBalancer: string; readonly pool: NewPool; readonly portTag: string }
  | { readonly does: 'update pool'; readonly loadBalancer: string; readonly id: string; readonly change: PoolChange }
  | { readonly does: 'delete pool'; readonly loadBalancer: string; readonly id: string }
  | {
      readonly does: 'update members';
      readonly loadBalancer: string;
      readonly pool: string | undefined;
      readonly portTag: string;
      readonly members: readonly NewMember[];
    }
  | {
      readonly does: 'create member';
      readonly loadBalancer: string;
      readonly pool: string | undefined;
      readonly portTag: string;
      readonly member: NewMember;
    }
  | {
      readonly does: 'update member';
      readonly loadBalancer: string;
      readonly pool: string;
      readonly id: string;
      readonly member: NewMember;
    }
  | { readonly does: 'delete member'; readonly loadBalancer: string; readonly pool: string; readonly id: string }
  | {
      readonly does: 'create health monitor';
      readonly loadBalancer: string;
      readonly pool: string | undefined;
      readonly portTag: string;
      readonly monitor: NewMonitor;
    }
  | {
      readonly does: 'update health monitor';
      readonly loadBalancer: string;
      readonly pool: string;
      readonly id: string;
      readonly monitor: NewMonitor;
    }
  | {
      readonly does: 'delete health monitor';
      readonly loadBalancer: string;
      readonly pool: string;
      readonly id: string;
    }
  | {
      readonly does: 'create listener';
      readonly loadBalancer: string;
      readonly listener: NewListener;
      readonly pool: string | undefined;
      readonly portTag: string;
    }
  | {
      readonly does: 'update listener';
      readonly loadBalancer: string;
      readonly id: string;
      readonly change: ListenerChange;
    }
  | { readonly does: 'delete listener'; readonly loadBalancer: string; readonly id: string }
  | { readonly does: 'create floating IP'; readonly body: NewFloatingIp }
  | {
      readonly does: 'update floating IP';
      readonly id: string;
      /** null = attached to nothing. */
      readonly portId?: string | null;
      readonly description?: string;
    }
  | { readonly does: 'delete floating IP'; readonly id: string }
  | { readonly does: 'create security group'; readonly name: string; readonly description: string }
  | { readonly does: 'update security group'; readonly id: string; readonly description: string }
  | { readonly does: 'delete security group'; readonly id: string }
  | { readonly does: 'create security group rule'; readonly group: string | undefined; readonly rule: NewRule }
  | { readonly does: 'delete security group rule'; readonly group: string; readonly id: string }
  | {
      readonly does: 'update port';
      readonly id: string;
      readonly add?: string;
      readonly remove?: string;
    };

export interface OctaviaStep extends LoadBalancerStep {
  readonly subject: Subject;
  readonly call: StepCall;
}

const verbs = { create: 'create', delete: 'delete' } as const;

/** @param summary says what changes, for people */
export function stepOf(subject: Subject, target: string, summary: string, call: StepCall): OctaviaStep {
  const [verb = '', ...resource] = call.does.replace('fail over', 'update').split(' ');
  const action = verb in verbs ? verbs[verb as keyof typeof verbs] : 'update';
  return { action, resource: resource.join(' '), target, summary, subject, call };
}
