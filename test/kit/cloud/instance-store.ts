import { history } from './history.ts';
import type { SimulatedInstance } from './instance.ts';

/** One change of one instance: no `before` = created, no `after` = forgotten. */
export interface ModelEvent {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly before: SimulatedInstance | undefined;
  readonly after: SimulatedInstance | undefined;
}

export type ChangeListener = (event: ModelEvent) => void;

/** All records with their indexes, their past and those who want to know of changes. Knows no rule of a VM's life. */
export interface InstanceStore {
  get(id: string): SimulatedInstance | undefined;
  all(): SimulatedInstance[];
  /** In the order of creation. */
  inPlace(place: string): SimulatedInstance[];
  /** @param at monotonic milliseconds */
  inPlaceAsOf(place: string, at: number): SimulatedInstance[];
  named(place: string, name: string): SimulatedInstance[];
  /** Puts a new record, in place of the one with its id if there is one. @param at not before any earlier change's */
  put(after: SimulatedInstance, at: number): void;
  remove(id: string, at: number): void;
  /** @returns a function that ends the subscription */
  onChange(listener: ChangeListener): () => void;
  watch(id: string, listener: ChangeListener): () => void;
}

/**
 * @param placeOf which place's list an instance stands in
 * @param historyMs how far back `inPlaceAsOf` can look
 */
export function instanceStore(placeOf: (instance: SimulatedInstance) => string, historyMs: number): InstanceStore {
  const instances = new Map<string, SimulatedInstance>();
  const byPlace = new Map<string, Map<string, SimulatedInstance>>();
  const past = new Map<string, ReturnType<typeof history<SimulatedInstance>>>();
  const idsByName = new Map<string, Set<string>>();
  const listeners = new Set<ChangeListener>();
  const watchers = new Map<string, Set<ChangeListener>>();

  function record(id: string, before: SimulatedInstance | undefined, after: SimulatedInstance | undefined, at: number) {
    const place = placeOf((after ?? before)!);
    valueAt(past, place, () => history<SimulatedInstance>(historyMs)).record(at, id, before);
    const here = valueAt(byPlace, place, () => new Map());
    if (after) {
      instances.set(id, after);
      here.set(id, after);
    } else {
      instances.delete(id);
      here.delete(id);
    }
    if (before?.name !== after?.name) {
      if (before) dropFrom(idsByName, before.name, id);
      if (after) valueAt(idsByName, after.name, () => new Set()).add(id);
    }
    for (const listener of [...listeners, ...(watchers.get(id) ?? [])]) listener({ at, before, after });
  }

  const inPlace = (place: string) => [...(byPlace.get(place)?.values() ?? [])];

  return {
    get: (id) => instances.get(id),
    all: () => [...instances.values()],
    inPlace,
    inPlaceAsOf: (place, at) => past.get(place)?.asOf(at, inPlace(place)) ?? [],
    named: (place, name) => [...(idsByName.get(name) ?? [])].flatMap((id) => byPlace.get(place)?.get(id) ?? []),
    put: (after, at) => record(after.id, instances.get(after.id), after, at),
    remove: (id, at) => record(id, instances.get(id), undefined, at),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    watch(id, listener) {
      valueAt(watchers, id, () => new Set()).add(listener);
      return () => dropFrom(watchers, id, listener);
    },
  };
}

function valueAt<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = create();
  map.set(key, made);
  return made;
}

function dropFrom<K, V>(map: Map<K, Set<V>>, key: K, value: V): void {
  const set = map.get(key);
  if (set?.delete(value) && set.size === 0) map.delete(key);
}
