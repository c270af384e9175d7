import type { LoadBalancerRef, ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import type { ServingCloud } from './wants.ts';

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

/** The shared memory of what the clouds hold, for one term of leadership. */
export interface Observations {
  /** Undefined until everything of the scope has been read once. Nothing seen is known, too. */
  of(scope: string, uid: string): Known | undefined;
  ready(scope: string): boolean;
  put(scope: string, uid: string, known: Known): void;
  /** It must be asked again. `mayHaveMade`: a call may just have made something that nobody saw. */
  invalidate(scope: string, uid: string, options?: { readonly mayHaveMade?: boolean }): void;
  forget(scope: string, uid: string): void;
  /**
   * Reads everything of the scope; what was changed or asked for meanwhile stays as it is known. Throws a CloudError.
   *
   * @param adoptable Services for which something may be taken over
   */
  refresh(cloud: ServingCloud, signal?: AbortSignal, adoptable?: readonly LoadBalancerRef[]): Promise<void>;
  /** What was kept when its Service went, as of the last complete read, and when that began; monotonic milliseconds. */
  retained(scope: string): { readonly all: readonly ObservedLoadBalancer[]; readonly atMs: number };
  /** Everything seen in a scope, by the UID of its Service. */
  all(scope: string): Iterable<readonly [uid: string, observed: ObservedLoadBalancer]>;
}

interface Entry {
  known: Known;
  /** Counts changes, to tell which came after the start of a read. */
  stamp: number;
}

interface Scope {
  ready: boolean;
  readonly entries: Map<string, Entry>;
  retained: ReturnType<Observations['retained']>;
}

/** @param monotonic the clock's */
export function createObservations(clusterUid: string, monotonic: () => number): Observations {
  const scopes = new Map<string, Scope>();
  let stamp = 0;

  function scopeOf(name: string): Scope {
    const held = scopes.get(name);
    if (held) return held;
    const made: Scope = { ready: false, entries: new Map(), retained: { all: [], atMs: 0 } };
    scopes.set(name, made);
    return made;
  }

  function set(scope: Scope, uid: string, known: Known): void {
    stamp += 1;
    scope.entries.set(uid, { known, stamp });
  }

  async function refresh(
    { scope: name, loadBalancers }: ServingCloud,
    signal?: AbortSignal,
    adoptable: readonly LoadBalancerRef[] = [],
  ): Promise<void> {
    const scope = scopeOf(name);
    const startedAt = stamp;
    const atMs = monotonic();
    const seen = new Map<string, ObservedLoadBalancer>();
    const kept: ObservedLoadBalancer[] = [];
    for (const observed of await loadBalancers.observeAll(clusterUid, signal, adoptable)) {
      if (observed.owner?.cluster === clusterUid) seen.set(observed.owner.service, observed);
      else if (observed.retained) kept.push(observed);
    }
    scope.retained = { all: kept, atMs };
    for (const [uid, entry] of scope.entries) {
      const changedSince = entry.stamp > startedAt;
      if (changedSince || !entry.known.fresh) seen.delete(uid);
      // A search that leaves out what was there says only that one must ask.
      else if (!seen.has(uid) && entry.known.observed !== undefined) scope.entries.delete(uid);
    }
    for (const [uid, observed] of seen) set(scope, uid, fromAll(observed, atMs));
    scope.ready = true;
  }

  return {
    ready: (name) => scopeOf(name).ready,
    of(name, uid) {
      const scope = scopeOf(name);
      const held = scope.entries.get(uid)?.known;
      if (held) return held;
      return scope.ready ? fromAll(undefined, 0) : undefined;
    },
    put: (name, uid, known) => set(scopeOf(name), uid, known),
    invalidate(name, uid, { mayHaveMade = false } = {}) {
      const scope = scopeOf(name);
      const held = scope.entries.get(uid)?.known ?? fromAll(undefined, 0);
      set(scope, uid, { ...held, fresh: false, ...(mayHaveMade ? { missingSinceMs: monotonic() } : {}) });
    },
    retained: (name) => scopeOf(name).retained,
    forget: (name, uid) => scopeOf(name).entries.delete(uid),
    refresh,
    *all(name) {
      for (const [uid, { known }] of scopeOf(name).entries) if (known.observed) yield [uid, known.observed];
    },
  };
}

function fromAll(observed: ObservedLoadBalancer | undefined, atMs: number): Known {
  return {
    observed,
    source: 'all',
    askedId: undefined,
    askedFor: undefined,
    missingSinceMs: undefined,
    atMs,
    fresh: true,
  };
}
