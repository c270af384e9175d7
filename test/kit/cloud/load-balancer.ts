import type { Family, Scheme } from './address-model.ts';
import type { Tags } from './body.ts';
import type { Resource } from './resource-store.ts';

export type LoadBalancerState = 'provisioning' | 'active' | 'failed' | 'deleting';
export type Protocol = 'TCP' | 'UDP' | 'SCTP';

export interface Member {
  readonly instanceId: string;
  /** 0 = no new connections. */
  readonly weight: 0 | 1;
}

export interface HealthCheck {
  readonly port: number;
  readonly path: string;
}

/** Instances that take the connections of the listeners that name it, with one health check (HTTP) for all. */
export interface Pool {
  readonly id: string;
  /** Unique in its load balancer. */
  readonly name: string;
  readonly tags: Tags;
  readonly healthCheck: HealthCheck | undefined;
  /** By the client's address. */
  readonly sessionAffinity: { readonly timeoutSeconds: number } | undefined;
  /** Sorted by instance id, each once. Equal sets share one list. */
  readonly members: readonly Member[];
  readonly clientToken: string | undefined;
}

/** What waits for connections on every address of its load balancer. Unique by protocol and port. */
export interface Listener {
  readonly id: string;
  readonly name: string;
  readonly tags: Tags;
  readonly protocol: Protocol;
  readonly port: number;
  readonly memberPort: number;
  /** CIDRs; empty = everybody. */
  readonly sourceRanges: readonly string[];
  /** The members get the client's address in a PROXY protocol header. */
  readonly proxyProtocol: boolean;
  /** The load balancer ends TLS. */
  readonly tls: boolean;
  /** Id of the pool. */
  readonly pool: string;
  readonly clientToken: string | undefined;
}

export interface AttachedAddress {
  /** Of the static address; undefined for one that comes and goes with the load balancer. */
  readonly id: string | undefined;
  readonly ip: string;
  readonly family: Family;
}

/** One load balancer at one moment, complete. */
export interface SimulatedLoadBalancer extends Resource {
  readonly name: string;
  readonly tags: Tags;
  readonly scheme: Scheme;
  readonly addresses: readonly AttachedAddress[];
  readonly state: LoadBalancerState;
  /** Grows with every change that a call makes; not with states and health. */
  readonly revision: number;
  readonly createdAt: string;
  readonly listeners: readonly Listener[];
  readonly pools: readonly Pool[];
}

/** Whether the load balancer or a listener or pool of it carries the tag. */
export function carriesTag({ tags, listeners, pools }: SimulatedLoadBalancer, key: string, value: string): boolean {
  return [{ tags }, ...listeners, ...pools].some((piece) => piece.tags[key] === value);
}
