import type { ObservedRoute } from '../clouds/routes.ts';
import type { RoutePlan } from './route-plan.ts';
import { addressTarget, type RouteRecord, type RouteRecords } from './route-records.ts';
import type { TableCache } from './table-cache.ts';

/** Maintains the records of those routes of one scope that do not say themselves whose they are. */
export interface RecordKeeper<R extends ObservedRoute> {
  /**
   * Records routes to existing Nodes, new ones before they are created. Drops records that two consecutive reads showed
   * to be unused. Undefined when there is nothing to write; otherwise the write, which rejects with a KubeError.
   */
  keep(table: Pick<TableCache<R>, 'table' | 'readAtMs'>, plan: RoutePlan<R>): Promise<void> | undefined;
}

export function createRecordKeeper<R extends ObservedRoute>(
  records: RouteRecords,
  { scope, tagged }: { readonly scope: string; readonly tagged: boolean },
  instanceOf: (providerID: string) => string,
  textOf: (destination: string) => string,
): RecordKeeper<R> {
  let prunedAtMs = Number.NEGATIVE_INFINITY;
  let idleBefore: ReadonlySet<string> = new Set();

  const keyOf = ({ destination, target }: RouteRecord) => `${destination} ${target}`;
  const recordOf = (destination: string, providerID: string | undefined): RouteRecord => ({
    destination,
    target: providerID === undefined ? '' : instanceOf(providerID),
  });
  const recordsOf = ({ destination, providerID, via }: R): RouteRecord[] => [
    recordOf(textOf(destination), providerID),
    ...(via === undefined ? [] : [{ destination: textOf(destination), target: addressTarget(via) }]),
  ];

  function unrecorded(routes: readonly R[], { keep, create }: RoutePlan<R>): RouteRecord[] {
    const kept = new Set(keep.map(({ destination, node }) => keyOf(recordOf(destination, node.providerID))));
    return [
      ...routes
        .filter(({ ours }) => ours === undefined)
        .map(recordsOf)
        .filter(([toInstance]) => kept.has(keyOf(toInstance!)))
        .flat(),
      ...(tagged ? [] : create.map(({ desired }) => recordOf(desired.destination, desired.providerID))),
    ].filter(({ destination, target }) => !records.has(scope, destination, target));
  }

  /** The records without a route and without a Node that claims the range. */
  function outlived(routes: readonly R[], { keep, create, blocked }: RoutePlan<R>): RouteRecord[] {
    const inUse = new Set(
      [
        ...routes.flatMap(recordsOf),
        ...[...keep, ...blocked].map(({ destination, node }) => recordOf(destination, node.providerID)),
        ...create.map(({ desired }) => recordOf(desired.destination, desired.providerID)),
      ].map(keyOf),
    );
    const idle = records
      .all(scope)
      .filter((record) => !inUse.has(keyOf(record)) && !inUse.has(keyOf({ ...record, target: '' })));
    const lasting = idle.filter((record) => idleBefore.has(keyOf(record)));
    idleBefore = new Set(idle.map(keyOf));
    return lasting;
  }

  return {
    keep({ table, readAtMs }, plan) {
      const routes = table?.routes ?? [];
      const note = unrecorded(routes, plan);
      // A list right after a change may not show it yet, so only a later read counts.
      const drop = readAtMs > prunedAtMs ? outlived(routes, plan) : [];
      prunedAtMs = Math.max(prunedAtMs, readAtMs);
      if (note.length === 0 && drop.length === 0) return undefined;
      return records.change(scope, { note, drop });
    },
  };
}
