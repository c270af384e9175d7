import type { JsonObject } from '../json.ts';

/** One version of one object. `value` has neither kind nor apiVersion, and is never changed in place. */
export interface Stored {
  /** `name` or `namespace/name`. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  readonly value: JsonObject;
  /** The value as JSON text, made once. */
  readonly json: string;
}

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly revision: number;
  /** The new version; for DELETED the last one, carrying the revision of the deletion. */
  readonly object: Stored;
  readonly previous: Stored | undefined;
}

export interface Collection {
  readonly name: string;
  readonly items: Map<string, Stored>;
  /** Keys in the order lists show them. */
  readonly order: string[];
  readonly history: Change[];
  /** Changes up to this revision are forgotten. */
  floor: number;
  readonly watchers: Set<(change: Change) => void>;
  /** Grows with each change; a cheap way to know that something moved. */
  version: number;
  /** Everything in list order, as of `sortedVersion`. */
  sorted: readonly Stored[];
  sortedVersion: number;
}

/**
 * All objects of a server under one revision counter, with a bounded history per collection.
 * Watchers are told in the order of writes, also when one of them writes while being told.
 */
export interface Store {
  readonly revision: number;
  collection(name: string): Collection;
  /** Uses up `count` revisions without a change, as the server's own bookkeeping does. */
  skip(count: number): void;
  /** Stores what `make` builds for the next revision, as a new object or a new version. */
  put(collection: Collection, make: (revision: number) => Stored): Stored;
  /** Removes the object; `last` builds its final version for the revision of the deletion. */
  remove(collection: Collection, key: string, last: (revision: number) => Stored): Stored;
  watch(collection: Collection, tell: (change: Change) => void): () => void;
  /** Changes after `revision`, oldest first; undefined when some of them are forgotten. */
  since(collection: Collection, revision: number): Change[] | undefined;
  /** Everything as it stood at `revision`, in list order; undefined when that is forgotten. */
  at(collection: Collection, revision: number): readonly Stored[] | undefined;
  /** Forgets the history of every collection. */
  compact(): void;
}

/** @param historyLimit changes kept per collection; up to twice as many are held before old ones are dropped */
export function createStore(historyLimit = 5_000): Store {
  const collections = new Map<string, Collection>();
  const pending: { collection: Collection; change: Change }[] = [];
  const snapshots = new Map<string, readonly Stored[]>();
  let revision = 1;
  let telling = false;

  function announce(collection: Collection, change: Change): void {
    collection.version += 1;
    collection.history.push(change);
    if (collection.history.length >= historyLimit * 2) {
      const dropped = collection.history.splice(0, collection.history.length - historyLimit);
      collection.floor = dropped.at(-1)?.revision ?? collection.floor;
    }
    if (collection.watchers.size === 0) return;
    pending.push({ collection, change });
    if (telling) return;
    telling = true;
    try {
      for (let next = pending.shift(); next; next = pending.shift()) {
        for (const tell of next.collection.watchers) tell(next.change);
      }
    } finally {
      telling = false;
    }
  }

  const store: Store = {
    get revision() {
      return revision;
    },
    collection(name) {
      let found = collections.get(name);
      if (!found) {
        found = {
          name,
          items: new Map(),
          order: [],
          history: [],
          floor: 0,
          watchers: new Set(),
          version: 0,
          sorted: [],
          sortedVersion: 0,
        };
        collections.set(name, found);
      }
      return found;
    },
    skip(count) {
      revision += count;
    },
    put(collection, make) {
      revision += 1;
      const stored = make(revision);
      const previous = collection.items.get(stored.key);
      if (!previous) insertKey(collection.order, stored.key);
      collection.items.set(stored.key, stored);
      announce(collection, { type: previous ? 'MODIFIED' : 'ADDED', revision, object: stored, previous });
      return stored;
    },
    remove(collection, key, last) {
      revision += 1;
      const stored = last(revision);
      const previous = collection.items.get(key);
      collection.items.delete(key);
      const index = position(collection.order, key);
      if (collection.order[index] === key) collection.order.splice(index, 1);
      announce(collection, { type: 'DELETED', revision, object: stored, previous });
      return stored;
    },
    watch(collection, tell) {
      collection.watchers.add(tell);
      return () => {
        collection.watchers.delete(tell);
      };
    },
    since(collection, after) {
      if (after < collection.floor) return undefined;
      return collection.history.slice(firstAfter(collection.history, after));
    },
    at(collection, wanted) {
      if (wanted < collection.floor) return undefined;
      const last = collection.history.at(-1)?.revision ?? collection.floor;
      if (wanted >= last) return present(collection);
      const id = `${collection.name}@${wanted}`;
      const held = snapshots.get(id);
      if (held) return held;
      const made = rewind(collection, wanted);
      snapshots.set(id, made);
      const oldest = snapshots.keys().next().value;
      if (snapshots.size > 8 && oldest !== undefined) snapshots.delete(oldest);
      return made;
    },
    compact() {
      snapshots.clear();
      for (const collection of collections.values()) {
        collection.history.length = 0;
        collection.floor = revision;
      }
    },
  };
  return store;
}

/** Index of the first key that is not smaller. */
export function position(order: readonly string[], key: string): number {
  let low = 0;
  let high = order.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((order[middle] ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function insertKey(order: string[], key: string): void {
  const last = order.at(-1);
  if (last === undefined || last < key) order.push(key);
  else order.splice(position(order, key), 0, key);
}

function firstAfter(history: readonly Change[], revision: number): number {
  let low = 0;
  let high = history.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((history[middle]?.revision ?? 0) <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The present state, put in order once per change. */
function present(collection: Collection): readonly Stored[] {
  if (collection.sortedVersion !== collection.version) {
    collection.sorted = inOrder(collection.items, collection.order);
    collection.sortedVersion = collection.version;
  }
  return collection.sorted;
}

function inOrder(items: ReadonlyMap<string, Stored>, order: readonly string[]): Stored[] {
  const found: Stored[] = [];
  for (const key of order) {
    const item = items.get(key);
    if (item) found.push(item);
  }
  return found;
}

/** Undoes the changes made after `revision`. */
function rewind(collection: Collection, revision: number): Stored[] {
  const items = new Map(collection.items);
  for (let index = collection.history.length - 1; index >= 0; index -= 1) {
    const change = collection.history[index];
    if (!change || change.revision <= revision) break;
    if (change.previous) items.set(change.object.key, change.previous);
    else items.delete(change.object.key);
  }
  return inOrder(items, [...items.keys()].sort());
}
