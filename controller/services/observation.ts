import type { ObservedLoadBalancer } from '../clouds/load-balancers.ts';

/** What is known of the load balancer of one Service. */
export interface Known {
  /** Undefined = nothing was seen. */
  readonly observed: ObservedLoadBalancer | undefined;
  /**
   * - `all`: from a read of everything of the cluster, which may lag behind
   * - `asked`: asked for this very Service
   * - `made`: answered by a call that changed it
   * - `neverCreated`: claimed by this leader, and no call has been made since
   */
  readonly source: 'all' | 'asked' | 'made' | 'neverCreated';
  /** The recorded id it was asked by; undefined = by search alone. */
  readonly askedId: string | undefined;
  /** What else of the Service was asked for, see `externalReferencesOf`; undefined = nothing. */
  readonly askedFor: string | undefined;
  /** Since when, without a break, asking has found nothing, or a call made what nobody saw; monotonic milliseconds. */
  readonly missingSinceMs: number | undefined;
  /** Monotonic milliseconds at the start of the read. */
  readonly atMs: number;
  /** False: something went wrong or time must pass; it must be asked again before anything is decided. */
  readonly fresh: boolean;
}

/** From a read of everything. */
export function listed(observed: ObservedLoadBalancer | undefined, atMs: number): Known {
  return known('all', observed, atMs);
}

/** What is known of a Service that has just been claimed for the first time. */
export function neverCreated(atMs: number): Known {
  return known('neverCreated', undefined, atMs);
}

/** Answered by a call that changed it. */
export function answered(
  observed: ObservedLoadBalancer | undefined,
  atMs: number,
  askedFor: string | undefined,
): Known {
  return { ...known('made', observed, atMs), askedFor };
}

function known(source: Known['source'], observed: ObservedLoadBalancer | undefined, atMs: number): Known {
  return { observed, source, askedId: undefined, askedFor: undefined, missingSinceMs: undefined, atMs, fresh: true };
}
