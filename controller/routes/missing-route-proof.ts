import type { CloudErrorKind } from '../../common/cloud-error.ts';
import { conditions } from '../../common/well-known.ts';
import type { ObservedRoute } from '../clouds/routes.ts';
import { conditionOf } from '../model/node-view.ts';
import type { RouteContext } from './route-context.ts';
import type { TableCache } from './table-cache.ts';

/** Whether failed creations prove that a route is missing. Keys are `destination uid`. */
export interface MissingRouteProof {
  /**
   * Whether a failure of this kind proves that the Node has no route. An ambiguous failure counts once the table was
   * read since and the next try failed the same way.
   */
  failed(key: string, node: string, kind: CloudErrorKind): boolean;
  /** Whether a creation ended without proof. */
  isUnsure(key: string): boolean;
  /** Whether the condition says that the Node has its routes. */
  hadRoute(node: string): boolean;
  created(key: string): void;
  /** Drops all other entries. */
  keepOnly(keys: ReadonlySet<string>): void;
}

/** Failures that prove that there is no route. */
const decided: ReadonlySet<CloudErrorKind> = new Set(['QuotaExceeded', 'NotFound']);
/** Failures after which the route may exist nevertheless. */
const undecided: ReadonlySet<CloudErrorKind> = new Set(['Conflict', 'Stale', 'Timeout']);

export function createMissingRouteProof<R extends ObservedRoute>(
  { clock, nodes }: Pick<RouteContext, 'clock' | 'nodes'>,
  table: Pick<TableCache<R>, 'readAtMs' | 'sawOurs'>,
): MissingRouteProof {
  /** When a creation last ended without proof, monotonic. */
  const unsureSinceMs = new Map<string, number>();

  function hadRoute(name: string): boolean {
    const node = nodes.get(name);
    return node !== undefined && conditionOf(node, conditions.networkUnavailable)?.status === 'False';
  }

  /** A table without any of these routes is not trustworthy. */
  function othersHadRoutes(name: string): boolean {
    return [...nodes.values()].some((node) => node.name !== name && hadRoute(node.name));
  }

  return {
    failed(key, node, kind) {
      if (kind === 'Throttled') return false;
      // A Node that had its route keeps its condition until the cloud's answer is definite: with a wrong credential, or
      // an incomplete answer, the table does not show the route.
      const had = hadRoute(node);
      if (had ? decided.has(kind) : !undecided.has(kind)) return true;
      const before = unsureSinceMs.get(key);
      unsureSinceMs.set(key, before ?? clock.monotonic());
      return before !== undefined && table.readAtMs >= before && (!had || table.sawOurs || !othersHadRoutes(node));
    },
    isUnsure: (key) => unsureSinceMs.has(key),
    hadRoute,
    created: (key) => unsureSinceMs.delete(key),
    keepOnly(keys) {
      for (const key of unsureSinceMs.keys()) if (!keys.has(key)) unsureSinceMs.delete(key);
    },
  };
}
