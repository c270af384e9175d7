import type { FaultAction } from './update.ts';
import {
  type Decision,
  type Head,
  keptDecisions,
  type MetricsView,
  type NodeRow,
  type ServiceRow,
  type Update,
} from './update.ts';

/** What the page knows. */
export interface Picture {
  readonly head: Head | undefined;
  readonly metrics: MetricsView | undefined;
  /** By zone, then name, in the order of names. A zone is a new map exactly when one of its Nodes changed. */
  readonly zones: ReadonlyMap<string, ReadonlyMap<string, NodeRow>>;
  readonly services: ReadonlyMap<string, ServiceRow>;
  /** Newest first. */
  readonly decisions: readonly Decision[];
  readonly faults: readonly FaultAction[];
}

export const emptyPicture: Picture = {
  head: undefined,
  metrics: undefined,
  zones: new Map(),
  services: new Map(),
  decisions: [],
  faults: [],
};

/** The picture after an update. Parts that did not change are the same objects. Pure. */
export function mergeUpdate(before: Picture, update: Update): Picture {
  const base = update.full ? emptyPicture : before;
  return {
    head: update.head ?? base.head,
    metrics: update.metrics ?? base.metrics,
    zones: mergeZones(base.zones, update.nodes ?? [], update.goneNodes ?? []),
    services: merged(base.services, update.services ?? [], update.goneServices ?? []),
    decisions: mergeDecisions(base.decisions, update.decisions ?? []),
    faults: update.faults ?? base.faults,
  };
}

function mergeZones(before: Picture['zones'], rows: readonly NodeRow[], gone: readonly string[]): Picture['zones'] {
  if (rows.length === 0 && gone.length === 0) return before;
  const byZone = Map.groupBy(rows, ({ zone }) => zone);
  // A Node that got its zone leaves the one it was in.
  const leaving = new Set([...gone, ...rows.map(({ name }) => name)]);
  const zones = new Map<string, ReadonlyMap<string, NodeRow>>();
  for (const zone of new Set([...before.keys(), ...byZone.keys()])) {
    const held = before.get(zone) ?? new Map<string, NodeRow>();
    const arriving = byZone.get(zone) ?? [];
    const stays = new Set(arriving.map(({ name }) => name));
    const left = [...leaving].filter((name) => held.has(name) && !stays.has(name));
    const next = merged(held, arriving, left);
    if (next.size > 0) zones.set(zone, next);
  }
  return new Map([...zones].sort(([a], [b]) => (a === '' ? 1 : b === '' ? -1 : compareNames(a, b))));
}

function merged<T extends { readonly name: string }>(
  before: ReadonlyMap<string, T>,
  rows: readonly T[],
  gone: readonly string[],
): ReadonlyMap<string, T> {
  if (rows.length === 0 && gone.length === 0) return before;
  const next = new Map(before);
  for (const name of gone) next.delete(name);
  let added = false;
  for (const row of rows) {
    added ||= !next.has(row.name);
    next.set(row.name, row);
  }
  return added ? new Map([...next].sort(([a], [b]) => compareNames(a, b))) : next;
}

function mergeDecisions(before: readonly Decision[], rows: readonly Decision[]): readonly Decision[] {
  if (rows.length === 0) return before;
  const replaced = new Set(rows.map(({ key }) => key));
  return [...rows, ...before.filter(({ key }) => !replaced.has(key))]
    .sort((a, b) => (a.time === b.time ? b.version - a.version : a.time < b.time ? 1 : -1))
    .slice(0, keptDecisions);
}

function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
