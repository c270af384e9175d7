import type { ObservedRoute } from '../clouds/routes.ts';
import type { RoutePlan } from './route-plan.ts';
import type { RouteRecord, RouteRecords } from './route-records.ts';
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

  const keyOf = ({ destination, instance }: RouteRecord) => `${destination} ${instance}`;
  const recordOf = (destination: string, providerID: string | undefined): RouteRecord => ({
    destination,
    instance: providerID === undefined ? '' : instanceOf(providerID),
  });

  function unrecorded(routes: readonly R[], { keep, create }: RoutePlan<R>): RouteRecord[] {
    const unmarked = new Set(
      routes.flatMap(({ destination, providerID, ours }) =>
        ours === undefined ? [keyOf(recordOf(textOf(destination), providerID))] : [],
      ),
    );
    return [
      ...keep
        .map(({ destination, node }) => recordOf(destination, node.providerID))
        .filter((record) => unmarked.has(keyOf(record))),
      ...(tagged ? [] : create.map(({ desired }) => recordOf(desired.destination, desired.providerID))),
    ].filter(({ destination, instance }) => !records.has(scope, destination, instance));
  }

  /** The records without a route and without a Node that claims the range. */
  function outlived(routes: readonly R[], { keep, create, blocked }: RoutePlan<R>): RouteRecord[] {
    const inUse = new Set(
      [
        ...routes.map(({ destination, providerID }) => recordOf(textOf(destination), providerID)),
        ...[...keep, ...blocked].map(({ destination, node }) => recordOf(destination, node.providerID)),
        ...create.map(({ desired }) => recordOf(desired.destination, desired.providerID)),
      ].map(keyOf),
    );
    const idle = records
      .all(scope)
      .filter((record) => !inUse.has(keyOf(record)) && !inUse.has(keyOf({ ...record, instance: '' })));
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
