import type { ObservedLoadBalancer } from '../clouds/load-balancers.ts';

/** What the last read or call showed of the load balancer of one Service. */
export interface Observation {
  /** Undefined = nothing was found. */
  readonly observed: ObservedLoadBalancer | undefined;
  /**
   * - `list`: a read of all load balancers of the cluster, which may lag behind
   * - `read`: a read of this very Service
   * - `answer`: the answer of a call that changed it
   * - `neverCreated`: claimed by this leader, and no call has been made since
   */
  readonly source: 'list' | 'read' | 'answer' | 'neverCreated';
  /** The recorded id that it was read by; undefined = by search alone. */
  readonly readId: string | undefined;
  /** The `externalReferencesOf` the Service at the time of the read; undefined = none. */
  readonly readReferences: string | undefined;
  /**
   * Since when every read has found nothing, or when a call may have created something whose answer was lost; monotonic
   * milliseconds.
   */
  readonly missingSinceMs: number | undefined;
  /** Start of the read, monotonic milliseconds. */
  readonly atMs: number;
  /** False: a call failed, or time must pass; it is read again before anything is decided. */
  readonly fresh: boolean;
}

/** From a read of all load balancers. */
export function listed(observed: ObservedLoadBalancer | undefined, atMs: number): Observation {
  return observation('list', observed, atMs);
}

/** Of a Service that was just claimed for the first time. */
export function neverCreated(atMs: number): Observation {
  return observation('neverCreated', undefined, atMs);
}

/** From the answer of a call that changed it. */
export function answered(
  observed: ObservedLoadBalancer | undefined,
  atMs: number,
  readReferences: string | undefined,
): Observation {
  return { ...observation('answer', observed, atMs), readReferences };
}

function observation(
  source: Observation['source'],
  observed: ObservedLoadBalancer | undefined,
  atMs: number,
): Observation {
  const unread = { readId: undefined, readReferences: undefined, missingSinceMs: undefined };
  return { observed, source, ...unread, atMs, fresh: true };
}
