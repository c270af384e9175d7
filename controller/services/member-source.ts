import type { DesiredMember, NodeLabel, ObservedMember } from '../clouds/load-balancers.ts';
import type { ServiceView } from '../model/service-view.ts';
import type { DrainTimes } from './members/service-members.ts';

export interface MemberOptions {
  /** Of the cloud that serves it. */
  readonly scope: string;
  /** The maximal number of members of one load balancer; undefined = unlimited. */
  readonly maxMembers: number | undefined;
  /** Whether draining has an effect in this cloud. */
  readonly drains: boolean;
  /** The current members; undefined while there is no load balancer. */
  readonly observed: readonly ObservedMember[] | undefined;
  /** Labels that a Node must have to be a member, see `LoadBalancers.nodeLabels`. */
  readonly nodeLabels?: readonly NodeLabel[] | undefined;
  /** providerIDs that the cloud refuses at present. */
  readonly refused?: ReadonlySet<string> | undefined;
  /** From the last answer for this Service. */
  readonly drainTimes?: DrainTimes | undefined;
}

/** The members of one Service, decided by durable facts. */
export interface MemberSet {
  readonly members: readonly DesiredMember[];
  /** How many of them are neither leaving nor kept without a Node that may be one. Default: all. */
  readonly active?: number;
  /** When to ask again without an event, because a drain ends. */
  readonly againInMs: number | undefined;
  /** The load balancer must be read again by then: the members wait for its health checks. */
  readonly readAgain?: boolean;
  /** How many stay although their Nodes vanished, because the removal budget has no room for them yet. */
  readonly withheld?: number;
  /** Nodes are left out because the cloud accepts no more members. */
  readonly omits?: boolean;
  /** For the next question. */
  readonly drainTimes?: DrainTimes | undefined;
}

/** Which Nodes serve which Service. */
export interface MemberSource {
  membersFor(service: ServiceView, options: MemberOptions): MemberSet;
  /** `run` is called, debounced, when the answers of a scope may have changed. */
  onChange(run: (scope: string) => void): void;
}
