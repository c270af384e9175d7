/** What the page shows of a Node. Times are ISO 8601. */
export interface NodeRow {
  readonly name: string;
  readonly state: string;
  /** A documented reason code; empty where none applies. */
  readonly reason: string;
  readonly why: string;
  readonly since: string | null;
  readonly scope: string | null;
  /** It needs no attention. */
  readonly ok: boolean;
  /** Empty when unset. */
  readonly zone: string;
  /** Empty when unset. */
  readonly providerID: string;
  readonly podRanges: string;
  /** The reason of NetworkUnavailable; empty where no controller keeps routes. */
  readonly route: string;
  /** The mark by which it leaves the load balancers; empty where it has none. */
  readonly leaving: string;
}

/** What the page shows of a Service that has, or may have, a load balancer. */
export interface ServiceRow {
  /** `namespace/name`. */
  readonly name: string;
  readonly state: string;
  readonly reason: string;
  readonly why: string;
  readonly since: string | null;
  readonly scope: string | null;
  readonly ok: boolean;
  /** Null: not recorded. Empty: requested, no answer yet. */
  readonly balancer: string | null;
  readonly addresses: string;
  readonly listeners: readonly string[];
  /** Null: the controller chooses none. */
  readonly members: MemberCounts | { readonly unknown: string } | null;
}

/** The desired members of a Service. */
export interface MemberCounts {
  readonly serving: number;
  readonly draining: number;
  readonly refused: number;
  /** Equal for equal names and reasons of those that do not serve. */
  readonly hash: string;
}

/** An Event of the controller. */
export interface Decision {
  readonly key: string;
  readonly time: string;
  readonly type: string;
  /** `node` or `service`; empty: an object that nothing explains. */
  readonly kind: 'node' | 'service' | '';
  /** Of a Service `namespace/name`. */
  readonly name: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  /** Orders those of one second. */
  readonly version: number;
}

/** What holds for the whole cluster. */
export interface Head {
  readonly server: string;
  /** Null: none, or it may not be read. */
  readonly leader: string | null;
  readonly renewedAt: string | null;
  readonly leaderFault: string | null;
  readonly pausedForAll: boolean;
  /** What this credential may not read. */
  readonly hidden: readonly string[];
  /** Why the last read of the API server failed; null: it did not. */
  readonly apiFault: string | null;
}

export interface CloudCalls {
  readonly cloud: string;
  readonly calls: number;
  /** Null before the second reading. */
  readonly perMinute: number | null;
  /** Answers 429, and codes of clouds that mean the same. */
  readonly throttled: number;
  /** Other answers that are no success. */
  readonly failed: number;
  /** Mean seconds that calls since the last reading waited under the rate limit; null: none since then. */
  readonly waitedSeconds: number | null;
}

/** By scope, then state. */
export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** What the metrics of a controller say. */
export type MetricsView = { readonly unknown: string } | ControllerMetrics;

export interface ControllerMetrics {
  readonly leads: boolean;
  readonly clouds: readonly CloudCalls[];
  readonly members: Counts;
  readonly routes: Counts;
}

/** One message to the page: everything, or what changed. */
export interface Update {
  /** It holds everything; what the page has is dropped. */
  readonly full?: boolean;
  readonly head?: Head;
  readonly metrics?: MetricsView;
  readonly nodes?: readonly NodeRow[];
  readonly goneNodes?: readonly string[];
  readonly services?: readonly ServiceRow[];
  readonly goneServices?: readonly string[];
  /** Added to the list, or in place of one of the same key. */
  readonly decisions?: readonly Decision[];
  /** What the page can break; only in the sandbox. */
  readonly faults?: readonly FaultAction[];
}

/** A fault that the sandbox causes on request. */
export interface FaultAction {
  readonly name: string;
  readonly title: string;
  /** It needs the name of a Node. */
  readonly ofNode: boolean;
}

/** The answer to a click on a Node or Service: what `explain` prints. */
export interface Explained {
  readonly state: string;
  readonly reason: string;
  readonly why: string;
  readonly remedy: string;
  readonly facts: readonly { readonly label: string; readonly text: string }[];
  readonly events: readonly {
    readonly time: string;
    readonly type: string;
    readonly reason: string;
    readonly message: string;
  }[];
}

/** The newest decisions that the page keeps. */
export const keptDecisions = 200;
