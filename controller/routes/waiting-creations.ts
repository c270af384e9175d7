import type { Lookup } from '../clouds/cloud.ts';
import type { ObservedRoute } from '../clouds/routes.ts';
import type { RouteContext } from './route-context.ts';
import type { RouteCreation } from './route-plan.ts';

/**
 * Creations that wait. The cloud would refuse a route to an instance that has ended until the Node is deleted, and
 * would show a new one to an instance that is off as one that drops packets too. What stands in their place stays
 * meanwhile. Keys are `destination uid`.
 */
export interface WaitingCreations {
  /**
   * Looks the instance up, and returns why its route has to wait, or undefined. If the cloud does not answer, the route
   * is tried. Never throws, safe to repeat.
   */
  ask(key: string, creation: RouteCreation<ObservedRoute>): Promise<string | undefined>;
  /** It does not wait any more. */
  drop(key: string): void;
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
      const why = lookup && reasonToWait(lookup, instead);
      if (why !== undefined && !waiting.has(key)) {
        log.info('route not created', { node, destination, providerID, why });
        waiting.add(key);
      }
      return why;
    },
    drop: (key) => waiting.delete(key),
    has: (key) => waiting.has(key),
    keepOnly(keys) {
      for (const key of waiting) if (!keys.has(key)) waiting.delete(key);
    },
  };
}

/** `instead`: routes to this instance or to none. */
function reasonToWait(lookup: Lookup, instead: readonly ObservedRoute[]): string | undefined {
  if (lookup.state === 'found') {
    const isReplaced = instead.some(({ providerID }) => providerID !== undefined);
    return isReplaced && lookup.power !== 'running' ? 'the instance does not run' : undefined;
  }
  return lookup.state === 'unknown' ? undefined : 'the instance has ended';
}
