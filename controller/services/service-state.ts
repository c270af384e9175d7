import type { DesiredMember } from '../clouds/load-balancers.ts';
import type { ServiceView } from '../model/service-view.ts';
import type { ReasonGauge } from '../model/waiting-nodes.ts';
import type { BackOff } from './back-off.ts';
import type { DrainTimes } from './members/service-members.ts';
import type { Observation } from './observation.ts';
import type { PodIds } from './pods/pod-members.ts';
import type { LoadBalancerReason } from './reasons.ts';
import { noneRefused, type RefusedMembers } from './refused-members.ts';
import type { ShownAddresses } from './shown-addresses.ts';

/** The state of one Service, or of a load balancer whose Service no longer exists, on the leader. */
export interface ServiceState {
  readonly uid: string;
  /** Its load balancer in each cloud, by scope. `stamp`: the order of reads and writes. */
  readonly observations: Map<string, { readonly observation: Observation; readonly stamp: number }>;
  /** A load balancer, or parts of one, with our marks for this very Service was seen in this term. */
  marked: boolean;
  /** The Service after our newest write. */
  written: { readonly service: ServiceView; readonly atMs: number } | undefined;
  /** We removed our finalizer and record, so its deletion needs no work. */
  released: boolean;
  /** The Service as it was last seen: it no longer exists, and its load balancer may. Set by `setGone` alone. */
  readonly gone: ServiceView | undefined;
  /** The API server itself has shown it in this term. */
  confirmed: boolean;
  /** Reason of its condition, as noted last. Set by `setReason` alone. */
  readonly reason: LoadBalancerReason | undefined;
  work: Work | undefined;
  /** Since when nothing can be done for it but wait; monotonic milliseconds. */
  waitingSinceMs: number | undefined;
  ensured: Ensured | undefined;
  backOff: BackOff | undefined;
  /** Since its last try. */
  membersChanged: boolean;
  refusedMembers: RefusedMembers;
  drainTimes: DrainTimes | undefined;
  podIds: PodIds | undefined;
  shown: ShownAddresses | undefined;
}

/** Work in progress, from its first step to its last, with all its tries. */
export interface Work {
  readonly kind: 'ensure' | 'remove';
  /** Monotonic milliseconds. */
  readonly startedMs: number;
  /** What has changed since the Service was last ensured; `nothing`: it was changed in the cloud. */
  readonly cause: 'service' | 'members' | 'nothing';
}

/** What was desired when the Service was last ensured. */
export interface Ensured {
  readonly fingerprint: string;
  readonly members: readonly DesiredMember[];
}

/** The states of one term of leadership, by UID of the Service. */
export interface ServiceStates {
  /** Creates it where there is none. */
  of(uid: string): ServiceState;
  get(uid: string): ServiceState | undefined;
  values(): Iterable<ServiceState>;
  setReason(uid: string, reason: LoadBalancerReason): void;
  /** Undefined: it exists, or nothing is left of it. */
  setGone(uid: string, service: ServiceView | undefined): void;
  /** Those that are gone. */
  gone(): readonly ServiceView[];
  /** Nothing is left to do for this Service: drops all state except that which identifies our own writes. */
  forget(uid: string): void;
  /** Drops the states that have neither a Service nor a load balancer. */
  prune(exists: (uid: string) => boolean): void;
}

type Writable = { -readonly [key in keyof ServiceState]: ServiceState[key] };

/** @param gauge number of Services by the reason of their condition */
export function createServiceStates(gauge: ReasonGauge = { set() {} }): ServiceStates {
  const states = new Map<string, Writable>();
  const goneUids = new Set<string>();
  const counts = new Map<LoadBalancerReason, number>();

  function of(uid: string): Writable {
    const held = states.get(uid);
    if (held !== undefined) return held;
    const state: Writable = {
      uid,
      observations: new Map(),
      written: undefined,
      released: false,
      gone: undefined,
      confirmed: false,
      reason: undefined,
      work: undefined,
      waitingSinceMs: undefined,
      ensured: undefined,
      backOff: undefined,
      refusedMembers: noneRefused,
      drainTimes: undefined,
      podIds: undefined,
      shown: undefined,
      membersChanged: false,
      marked: false,
    };
    states.set(uid, state);
    return state;
  }

  function count(reason: LoadBalancerReason | undefined, by: number): void {
    if (reason === undefined) return;
    const next = (counts.get(reason) ?? 0) + by;
    counts.set(reason, next);
    gauge.set({ reason }, next);
  }

  function forget(uid: string): void {
    const before = states.get(uid);
    states.delete(uid);
    count(before?.reason, -1);
    const { written, released = false, gone } = before ?? {};
    if (written || released || gone) Object.assign(of(uid), { written, released, gone });
  }

  return {
    of,
    get: (uid) => states.get(uid),
    values: () => states.values(),
    setReason(uid, reason) {
      const state = of(uid);
      if (state.reason === reason) return;
      count(state.reason, -1);
      count(reason, 1);
      state.reason = reason;
    },
    setGone(uid, service) {
      of(uid).gone = service;
      if (service === undefined) goneUids.delete(uid);
      else goneUids.add(uid);
    },
    gone: () => [...goneUids].flatMap((uid) => states.get(uid)?.gone ?? []),
    forget,
    prune(exists) {
      for (const { uid, observations, gone, reason } of states.values()) {
        if (exists(uid) || observations.size > 0 || gone !== undefined) continue;
        states.delete(uid);
        count(reason, -1);
      }
    },
  };
}
