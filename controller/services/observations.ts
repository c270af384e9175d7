import type { LoadBalancerRef, ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import { type Known, listed } from './observation.ts';
import type { ServiceStates } from './service-state.ts';
import type { ServingCloud } from './wants.ts';

/** What the clouds hold, as this leader last read or changed it; kept with the states of the Services. */
export interface Observations {
  /** Undefined until everything of the scope has been read once. Nothing seen is known, too. */
  of(scope: string, uid: string): Known | undefined;
  ready(scope: string): boolean;
  put(scope: string, uid: string, known: Known): void;
  /** It must be asked again. `mayHaveMade`: a call may just have made something that nobody saw. */
  invalidate(scope: string, uid: string, options?: { readonly mayHaveMade?: boolean }): void;
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

/** @param monotonic the clock's */
export function createObservations(clusterUid: string, monotonic: () => number, states: ServiceStates): Observations {
  /** By scope, once everything of it has been read. */
  const retained = new Map<string, ReturnType<Observations['retained']>>();
  let stamp = 0;

  function put(scope: string, uid: string, known: Known): void {
    stamp += 1;
    states.of(uid).known.set(scope, { known, stamp });
  }

  async function refresh(
    { scope, loadBalancers }: ServingCloud,
    signal?: AbortSignal,
    adoptable: readonly LoadBalancerRef[] = [],
  ): Promise<void> {
    const startedAt = stamp;
    const atMs = monotonic();
    const seen = new Map<string, ObservedLoadBalancer>();
    const kept: ObservedLoadBalancer[] = [];
    for (const observed of await loadBalancers.observeAll(clusterUid, signal, adoptable)) {
      if (observed.owner?.cluster === clusterUid) seen.set(observed.owner.service, observed);
      else if (observed.retained) kept.push(observed);
    }
    for (const { uid, known } of states.values()) {
      const held = known.get(scope);
      if (held === undefined) continue;
      const changedSince = held.stamp > startedAt;
      if (changedSince || !held.known.fresh) seen.delete(uid);
      // A search that leaves out what was there says only that one must ask.
      else if (!seen.has(uid) && held.known.observed !== undefined) known.delete(scope);
    }
    for (const [uid, observed] of seen) put(scope, uid, listed(observed, atMs));
    retained.set(scope, { all: kept, atMs });
  }

  function of(scope: string, uid: string): Known | undefined {
    const held = states.get(uid)?.known.get(scope)?.known;
    return held ?? (retained.has(scope) ? listed(undefined, 0) : undefined);
  }

  return {
    ready: (scope) => retained.has(scope),
    of,
    put,
    invalidate(scope, uid, { mayHaveMade = false } = {}) {
      const held = states.get(uid)?.known.get(scope)?.known ?? listed(undefined, 0);
      put(scope, uid, { ...held, fresh: false, ...(mayHaveMade ? { missingSinceMs: monotonic() } : {}) });
    },
    retained: (scope) => retained.get(scope) ?? { all: [], atMs: 0 },
    refresh,
    *all(scope) {
      for (const { uid, known } of states.values()) {
        const observed = known.get(scope)?.known.observed;
        if (observed) yield [uid, observed];
      }
    },
  };
}
