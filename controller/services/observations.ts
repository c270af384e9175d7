import type { LoadBalancerRef, ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import { listed, type Observation } from './observation.ts';
import type { ServiceStates } from './service-state.ts';
import type { ServingCloud } from './serving-cloud.ts';

/** The load balancers that this leader last read or changed, stored with the states of the Services. */
export interface Observations {
  /** Undefined until everything of the scope was read once; after that, finding nothing is an observation, too. */
  of(scope: string, uid: string): Observation | undefined;
  /** Whether a complete read of the scope has succeeded. */
  ready(scope: string): boolean;
  put(scope: string, uid: string, observation: Observation): void;
  /** It must be read again. `mayHaveCreated`: the answer of a call that may have created something was lost. */
  invalidate(scope: string, uid: string, options?: { readonly mayHaveCreated?: boolean }): void;
  /**
   * Reads everything of the scope. Newer reads and changes of one Service are not overwritten. Throws a
   * CloudError.
   *
   * @param adoptable Services whose load balancers may be adopted
   */
  refresh(cloud: ServingCloud, signal?: AbortSignal, adoptable?: readonly LoadBalancerRef[]): Promise<void>;
  /** What was retained when its Service was deleted, as of the last complete read, and when that read began. */
  retained(scope: string): { readonly all: readonly ObservedLoadBalancer[]; readonly atMs: number };
  /** Everything found in a scope, by the UID of its Service. */
  all(scope: string): Iterable<readonly [uid: string, observed: ObservedLoadBalancer]>;
}

/** @param monotonic the clock's */
export function createObservations(clusterUid: string, monotonic: () => number, states: ServiceStates): Observations {
  /** By scope, from the first complete read on. */
  const retained = new Map<string, ReturnType<Observations['retained']>>();
  let stamp = 0;

  function put(scope: string, uid: string, observation: Observation): void {
    stamp += 1;
    const state = states.of(uid);
    const { owner } = observation.observed ?? {};
    if (owner?.cluster === clusterUid && owner.service === uid) state.marked = true;
    state.observations.set(scope, { observation, stamp });
  }

  async function refresh(
    { scope, loadBalancers }: ServingCloud,
    signal?: AbortSignal,
    adoptable: readonly LoadBalancerRef[] = [],
  ): Promise<void> {
    const startedAt = stamp;
    const atMs = monotonic();
    const found = new Map<string, ObservedLoadBalancer>();
    const kept: ObservedLoadBalancer[] = [];
    for (const observed of await loadBalancers.observeAll(clusterUid, signal, adoptable)) {
      if (observed.owner?.cluster === clusterUid) found.set(observed.owner.service, observed);
      else if (observed.retained) kept.push(observed);
    }
    for (const { uid, observations } of states.values()) {
      const held = observations.get(scope);
      if (held === undefined) continue;
      const isNewer = held.stamp > startedAt;
      if (isNewer || !held.observation.fresh) found.delete(uid);
      // A list that misses a load balancer does not prove that it is gone: it is read by its id.
      else if (!found.has(uid) && held.observation.observed !== undefined) observations.delete(scope);
    }
    for (const [uid, observed] of found) put(scope, uid, listed(observed, atMs));
    retained.set(scope, { all: kept, atMs });
  }

  function of(scope: string, uid: string): Observation | undefined {
    const held = states.get(uid)?.observations.get(scope)?.observation;
    return held ?? (retained.has(scope) ? listed(undefined, 0) : undefined);
  }

  return {
    ready: (scope) => retained.has(scope),
    of,
    put,
    invalidate(scope, uid, { mayHaveCreated = false } = {}) {
      const held = states.get(uid)?.observations.get(scope)?.observation ?? listed(undefined, 0);
      put(scope, uid, { ...held, fresh: false, ...(mayHaveCreated ? { missingSinceMs: monotonic() } : {}) });
    },
    retained: (scope) => retained.get(scope) ?? { all: [], atMs: 0 },
    refresh,
    *all(scope) {
      for (const { uid, observations } of states.values()) {
        const observed = observations.get(scope)?.observation.observed;
        if (observed) yield [uid, observed];
      }
    },
  };
}
