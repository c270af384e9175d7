import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import { isRetained, type ServiceView } from '../model/service-view.ts';
import type { Observations } from './observations.ts';
import { mayRetain, type OperatorPolicy } from './operator-policy.ts';

/**
 * The effect of `mooring.dev/load-balancer-retain` on a Service.
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
   * @param removing the load balancer of a Service that is being deleted: once granted, it holds a slot
   * @param gone the Service no longer exists, so it cannot wait
   * @param desired the Service asks for its load balancer: the slot of a removal that was abandoned is free again
   */
  of(
    service: ServiceView,
    scope: string,
    options?: {
      readonly removing?: ObservedLoadBalancer | undefined;
      readonly gone?: boolean;
      readonly desired?: boolean;
    },
  ): Retention;
  /** The load balancer of a Service was released; from now on the lists of the cloud show it. */
  ended(service: ServiceView): void;
  /** How many load balancers of a scope are retained, by namespace. */
  counts(scope: string): ReadonlyMap<string, number>;
}

/** How long a list may miss what was just marked as retained. */
const settleMs = 60_000;

interface Slot {
  readonly scope: string;
  readonly uid: string;
  readonly namespace: string;
  /** Undefined until the load balancer is released; monotonic milliseconds. */
  endedMs: number | undefined;
}

/**
 * Decides by the operator's policy, the retained load balancers of the last read, and the grants since.
 */
export function createRetentions(
  policy: OperatorPolicy,
  observations: Pick<Observations, 'retained'>,
  monotonic: () => number,
): Retentions {
  /** By the id of the load balancer. */
  const slots = new Map<string, Slot>();

  function held(scope: string): ReadonlyMap<string, string> {
    const { all, atMs } = observations.retained(scope);
    for (const [id, slot] of slots)
      if (slot.scope === scope && slot.endedMs !== undefined && slot.endedMs + settleMs < atMs) slots.delete(id);
    const namespaces = new Map(all.map((one) => [one.id ?? one.name, one.service?.split('/')[0] ?? '']));
    for (const [id, slot] of slots) if (slot.scope === scope) namespaces.set(id, slot.namespace);
    return namespaces;
  }

  function abandon(uid: string): void {
    for (const [id, slot] of slots) if (slot.uid === uid && slot.endedMs === undefined) slots.delete(id);
  }

  function counts(scope: string): ReadonlyMap<string, number> {
    const numbers = new Map<string, number>();
    for (const namespace of held(scope).values()) numbers.set(namespace, (numbers.get(namespace) ?? 0) + 1);
    return numbers;
  }

  return {
    counts,
    of(service, scope, { removing, gone = false, desired = false } = {}) {
      const { namespace, uid } = service;
      if (desired || !isRetained(service)) abandon(uid);
      if (!isRetained(service)) return { kind: 'none' };
      const annotation = annotationKeys.loadBalancerRetain;
      if (!mayRetain(policy, service)) {
        const unnamed = `--allow-retain names neither namespace ${namespace} nor the class of the Service`;
        return { kind: 'refused', message: `${annotation}: ${unnamed}; the load balancer is deleted with the Service` };
      }
      // A load balancer of others stays in any case.
      if (removing?.attached === true) return { kind: 'granted' };
      const id = removing?.owner?.service === uid ? (removing.id ?? uid) : undefined;
      if (id !== undefined && slots.has(id)) return { kind: 'granted' };
      const count = counts(scope).get(namespace) ?? 0;
      if (count < policy.retainLimit) {
        if (id !== undefined) slots.set(id, { scope, uid, namespace, endedMs: undefined });
        return { kind: 'granted' };
      }
      const keeps = `namespace ${namespace} retains ${count} load balancers in ${scope}`;
      const full = `${annotation}: ${keeps}, and --retained-load-balancers-limit is ${policy.retainLimit}`;
      if (gone) return { kind: 'refused', message: `${full}; the load balancer is deleted with its Service` };
      const remedy = 'delete a retained one, raise the limit, or remove the annotation';
      return { kind: 'full', message: `${full}; a deletion waits: ${remedy}` };
    },
    ended({ uid }) {
      for (const slot of slots.values()) if (slot.uid === uid) slot.endedMs ??= monotonic();
    },
  };
}
