import type { Lookup } from '../clouds/cloud.ts';
import type { ObservedRoute } from '../clouds/routes.ts';
import type { RouteContext } from './route-context.ts';
import type { RouteCreation } from './route-plan.ts';

/**
 * Creations that wait because their instance does not run: the cloud would refuse each of them until the Node is
 * deleted. What stands in their place stays meanwhile. Keys are `destination uid`.
 */
export interface WaitingCreations {
  /**
   * Looks the instance up, and returns whether its route has to wait. Without an answer of the cloud it does not. Never
   * throws, safe to repeat.
   */
  ask(key: string, creation: RouteCreation<ObservedRoute>): Promise<boolean>;
  /** By the last answer. */
  has(key: string): boolean;
  /** Drops all other entries. */
  keepOnly(keys: ReadonlySet<string>): void;
}

export function createWaitingCreations(
  { resolver, log }: Pick<RouteContext, 'resolver' | 'log'>,
  scope: string,
): WaitingCreations {
  const waiting = new Set<string>();
  return {
    async ask(key, { desired, instead }) {
      const { node, destination, providerID } = desired;
      const lookup = await resolver.lookupsOf(scope)?.lookup({ by: 'providerID', providerID });
      if (lookup === undefined || mayBeRouted(lookup, instead.length > 0)) {
        waiting.delete(key);
        return false;
      }
      if (!waiting.has(key))
        log.info('route not created while its instance does not run', { node, destination, providerID });
      waiting.add(key);
      return true;
    },
    has: (key) => waiting.has(key),
    keepOnly(keys) {
      for (const key of waiting) if (!keys.has(key)) waiting.delete(key);
    },
  };
}

/** A route that drops packets is replaced only once its instance runs: one that ends may be `changing` first. */
function mayBeRouted(lookup: Lookup, replaces: boolean): boolean {
  if (lookup.state === 'found') return lookup.power === 'running' || (lookup.power === 'changing' && !replaces);
  return lookup.state === 'unknown' && lookup.error.kind !== 'NotFound';
}
