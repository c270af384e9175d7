import { history } from './history.ts';

/** What every resource of a region has. Records are never changed in place: each change makes a new one. */
export interface Resource {
  readonly id: string;
  /** `project/region`. */
  readonly place: string;
  /** Position in lists: the order of creation, kept for life. */
  readonly serial: number;
  /** The token it was made with; the same token never makes a second one while this one lives. */
  readonly clientToken: string | undefined;
}

/** No `before` = created, no `after` = gone. `at` in monotonic milliseconds. */
export interface ResourceEvent<R> {
  readonly at: number;
  readonly before: R | undefined;
  readonly after: R | undefined;
}

export interface ResourceStore<R extends Resource> {
  get(id: string): R | undefined;
  all(): R[];
  /** In the order of creation. */
  inPlace(place: string): R[];
  countIn(place: string): number;
  /** The same list as it was right after moment `at`. */
  inPlaceAsOf(place: string, at: number): R[];
  byToken(place: string, token: string | undefined): R | undefined;
  /** Puts a new record, in place of the one with its id if there is one. @param at not before any earlier change's */
  put(after: R, at: number): R;
  remove(id: string, at: number): void;
  nextSerial(): number;
  /** @returns a function that ends the subscription */
  onChange(listener: (event: ResourceEvent<R>) => void): () => void;
}

/** @param historyMs how far back `inPlaceAsOf` can look */
export function resourceStore<R extends Resource>(historyMs: number): ResourceStore<R> {
  const records = new Map<string, R>();
  const byPlace = new Map<string, Map<string, R>>();
  const past = new Map<string, ReturnType<typeof history<R>>>();
  const idByToken = new Map<string, string>();
  const listeners = new Set<(event: ResourceEvent<R>) => void>();
  let serial = 0;

  function here(place: string): Map<string, R> {
    const found = byPlace.get(place) ?? new Map<string, R>();
    byPlace.set(place, found);
    return found;
  }

  function record(id: string, after: R | undefined, at: number): void {
    const before = records.get(id);
    const { place, clientToken } = (after ?? before)!;
    const then = past.get(place) ?? history<R>(historyMs);
    past.set(place, then);
    then.record(at, id, before);
    const token = clientToken === undefined ? undefined : `${place} ${clientToken}`;
    if (after) {
      records.set(id, after);
      here(place).set(id, after);
      if (token !== undefined) idByToken.set(token, id);
    } else {
      records.delete(id);
      here(place).delete(id);
      if (token !== undefined) idByToken.delete(token);
    }
    for (const listener of listeners) listener({ at, before, after });
  }

  return {
    get: (id) => records.get(id),
    all: () => [...records.values()],
    inPlace: (place) => [...here(place).values()],
    countIn: (place) => here(place).size,
    inPlaceAsOf: (place, at) => past.get(place)?.asOf(at, here(place).values()) ?? [],
    byToken(place, token) {
      const id = token === undefined ? undefined : idByToken.get(`${place} ${token}`);
      return id === undefined ? undefined : records.get(id);
    },
    put(after, at) {
      record(after.id, after, at);
      return after;
    },
    remove(id, at) {
      if (records.has(id)) record(id, undefined, at);
    },
    nextSerial() {
      serial += 1;
      return serial;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
