import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import { isRetained, type ServiceView } from '../model/service-view.ts';
import type { Observations } from './observations.ts';
import { mayRetain, type OperatorPolicy } from './operator-policy.ts';

/**
 * What becomes of `mooring.dev/load-balancer-retain` on a Service.
 *
 * - `none`: it is not set
 * - `granted`: the load balancer stays when the Service is deleted
 * - `refused`: the operator does not allow it; the load balancer is deleted with the Service, whose condition says so
 * - `full`: it is allowed, but the namespace already retains as many as it may; the deletion of the Service waits
 */
export type Retention =
  | { readonly kind: 'none' | 'granted' }
  | { readonly kind: 'refused' | 'full'; readonly message: string };

export interface Retentions {
  /**
   * @param going the load balancer of a Service that is being deleted: once granted, it holds a place
   * @param gone the Service no longer exists, so it cannot wait
   */
  of(
    service: ServiceView,
    scope: string,
    options?: { readonly going?: ObservedLoadBalancer | undefined; readonly gone?: boolean },
  ): Retention;
  /** The load balancer of a Service was given up; from now on the lists of the cloud show it. */
  ended(service: ServiceView): void;
  /** How many load balancers of a scope are retained, by namespace. */
  counts(scope: string): ReadonlyMap<string, number>;
}

/** How long a list may miss what was just marked as retained. */
const settleMs = 60_000;

interface Place {
  readonly scope: string;
  readonly uid: string;
  readonly namespace: string;
  /** Undefined until the load balancer is given up; monotonic milliseconds. */
  endedMs: number | undefined;
}

/**
 * Decides by the operator's policy, by what the last read of a cloud showed as retained, and by what was granted
 * since.
 */
export function createRetentions(
  policy: OperatorPolicy,
  observations: Pick<Observations, 'retained'>,
  monotonic: () => number,
): Retentions {
  /** By the id of the load balancer. */
  const places = new Map<string, Place>();

  function held(scope: string): ReadonlyMap<string, string> {
    const { all, atMs } = observations.retained(scope);
    for (const [id, place] of places)
      if (place.scope === scope && place.endedMs !== undefined && place.endedMs + settleMs < atMs) places.delete(id);
    const namespaces = new Map(all.map((one) => [one.id ?? one.name, one.service?.split('/')[0] ?? '']));
    for (const [id, place] of places) if (place.scope === scope) namespaces.set(id, place.namespace);
    return namespaces;
  }

  function counts(scope: string): ReadonlyMap<string, number> {
    const numbers = new Map<string, number>();
    for (const namespace of held(scope).values()) numbers.set(namespace, (numbers.get(namespace) ?? 0) + 1);
    return numbers;
  }

  return {
    counts,
    of(service, scope, { going, gone = false } = {}) {
      if (!isRetained(service)) return { kind: 'none' };
      const { namespace, uid } = service;
      const annotation = annotationKeys.loadBalancerRetain;
      if (!mayRetain(policy, service)) {
        const unnamed = `--allow-retain names neither namespace ${namespace} nor the class of the Service`;
        return { kind: 'refused', message: `${annotation}: ${unnamed}; the load balancer goes when the Service goes` };
      }
      // What others created stays in any case.
      if (going?.attached === true) return { kind: 'granted' };
      const id = going?.owner?.service === uid ? (going.id ?? uid) : undefined;
      if (id !== undefined && places.has(id)) return { kind: 'granted' };
      const count = counts(scope).get(namespace) ?? 0;
      if (count < policy.retainLimit) {
        if (id !== undefined) places.set(id, { scope, uid, namespace, endedMs: undefined });
        return { kind: 'granted' };
      }
      const keeps = `namespace ${namespace} keeps ${count} load balancers without a Service in ${scope}`;
      const full = `${annotation}: ${keeps}, and --retained-load-balancers-limit is ${policy.retainLimit}`;
      if (gone) return { kind: 'refused', message: `${full}; the load balancer goes with its Service` };
      const remedy = 'remove one that is kept, raise the limit, or take the annotation away';
      return { kind: 'full', message: `${full}; a deletion waits: ${remedy}` };
    },
    ended({ uid }) {
      for (const place of places.values()) if (place.uid === uid) place.endedMs ??= monotonic();
    },
  };
}
