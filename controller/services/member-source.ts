import type { DesiredMember, NodeLabel, ObservedMember } from '../clouds/load-balancers.ts';
import type { ServiceView } from '../model/service-view.ts';
import type { DrainTimes } from './members/service-members.ts';

export interface MemberOptions {
  /** Of the cloud that serves it. */
  readonly scope: string;
  /** How many members one load balancer takes there; undefined = any number. */
  readonly maxMembers: number | undefined;
  /** Whether draining does anything there. */
  readonly drains: boolean;
  /** What the load balancer has now; undefined while there is none. */
  readonly observed: readonly ObservedMember[] | undefined;
  /** Which Nodes alone are asked for, see `LoadBalancers.nodeLabels`. */
  readonly nodeLabels?: readonly NodeLabel[] | undefined;
  /** providerIDs that the cloud refuses for now. */
  readonly refused?: ReadonlySet<string> | undefined;
  /** As the last answer for this Service had them. */
  readonly drainTimes?: DrainTimes | undefined;
}

/** The members of one Service, decided by durable facts. */
export interface MemberSet {
  readonly members: readonly DesiredMember[];
  /** When to ask again, although nothing changes: a drain ends. */
  readonly againInMs: number | undefined;
  /** What the load balancer has must be read anew by then: only its health checks can tell what is waited for. */
  readonly lookAgain?: boolean;
  /** How many stay although their Nodes vanished, since the removal budget has no room for them yet. */
  readonly withheld?: number;
  /** For the next question. */
  readonly drainTimes?: DrainTimes | undefined;
}

/** Which Nodes serve which Service. */
export interface MemberSource {
  membersFor(service: ServiceView, options: MemberOptions): MemberSet;
  /** Called, debounced, when the answers of a scope may have changed. */
  onChange(run: () => void): void;
}
