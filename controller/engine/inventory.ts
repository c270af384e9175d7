import type { Clock } from '../../common/process/clock.ts';
import { createDetails } from './details.ts';
import { type Found, identityOf, isOwnedBy, type Kind, type Owner, type Query, type Reader } from './resource.ts';

const lags = () => false;

/** A moment: in the order of this process, and in milliseconds. */
export interface Moment {
  readonly order: number;
  readonly atMs: number;
}

/** What is known of one resource. `found` undefined: it is gone, and a list may still show it. */
interface Entry extends Moment {
  readonly kind: string;
  readonly found: Found | undefined;
  /** An answer of our own: lists may not show it yet. */
  readonly answered: boolean;
}

/** What a narrow read asked for. */
interface Look extends Moment {
  readonly ids: ReadonlySet<string>;
  readonly searched: boolean;
}

export interface InventoryParts {
  readonly readers: readonly Reader[];
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly cluster: string;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** One map by id of what a scope holds for a cluster: complete audits, narrow reads between, and our own answers. */
export interface Inventory {
  /** Reads everything. One at a time; all who ask meanwhile share it. */
  audit(): Promise<void>;
  /** Reads one owner. */
  look(query: Query): Promise<void>;
  /** When the last complete audit began; undefined before the first. */
  readonly auditedAtMs: number | undefined;
  /** When the read of this owner began that the inventory rests on. */
  lookedAtMs(owner: Owner): number;
  /** What the last narrow read of this owner asked for; undefined where an audit is newer. */
  lookOf(owner: Owner): Look | undefined;
  /** Success answers of our own. */
  note(found: readonly Found[]): void;
  /** A removal was answered. */
  noteGone(found: Found): void;
  /** An operation of ours works on it: until `release`, reads do not change what our answer said of it. */
  hold(identity: string, operation: string): void;
  release(identity: string): void;
  /** The outcome of a call is unknown: what is known of this owner, or this kind, is old until a read succeeds. */
  invalidate(subject: Owner | { readonly kind: string }): void;
  isStale(owner: Owner, kinds: ReadonlySet<string>): boolean;
  /** Nothing is asked for this owner any more. */
  forget(owner: Owner): void;
  get(identity: string): Found | undefined;
  /** The same list until something is known anew. */
  all(): readonly Found[];
}

export function createInventory(parts: InventoryParts): Inventory {
  const { readers, kinds, cluster, clock } = parts;
  const io = { signal: parts.signal };
  const entries = new Map<string, Entry>();
  const looks = new Map<string, Look>();
  const staleSince = new Map<string, number>();
  const held = new Map<string, string>();
  const details = createDetails(readers);
  let order = 0;
  let listed: readonly Found[] | undefined;
  let audited: Moment | undefined;
  let auditing: Promise<void> | undefined;

  function now(): Moment {
    order += 1;
    return { order, atMs: clock.monotonic() };
  }

  function containerOf({ kind, within }: Found): string | undefined {
    const container = kinds.get(kind)?.within;
    return container === undefined || within === undefined ? undefined : identityOf({ kind: container, id: within });
  }

  /** An answer of our own outlives reads that began before they could show it. */
  function outlives(identity: string, entry: Entry, read: Moment, isFresh: (kind: string) => boolean): boolean {
    if (entry.order > read.order || held.has(identity)) return true;
    if (entry.found !== undefined && held.has(containerOf(entry.found) ?? '')) return true;
    return !isFresh(entry.kind) && entry.answered && entry.atMs + (kinds.get(entry.kind)?.settleMs ?? 0) > read.atMs;
  }

  function take(found: readonly Found[], read: Moment, isFresh: (kind: string) => boolean): ReadonlySet<string> {
    const shown = new Set<string>();
    listed = undefined;
    for (const one of found) {
      const identity = identityOf(one);
      shown.add(identity);
      const entry = entries.get(identity);
      if (entry === undefined || !outlives(identity, entry, read, isFresh))
        entries.set(identity, { kind: one.kind, found: one, ...read, answered: false });
    }
    return shown;
  }

  /** What a read should have shown and did not is gone. */
  function dropMissing(
    shown: ReadonlySet<string>,
    read: Moment,
    isFresh: (kind: string) => boolean,
    wasAsked: (found: Found) => boolean,
  ): void {
    listed = undefined;
    for (const [identity, entry] of entries) {
      if (shown.has(identity) || outlives(identity, entry, read, isFresh)) continue;
      if (entry.found !== undefined && !wasAsked(entry.found)) continue;
      entries.delete(identity);
      for (const [part, { found }] of entries)
        if (found !== undefined && containerOf(found) === identity) entries.delete(part);
    }
  }

  function freshen(read: Moment, isRead: (subject: string) => boolean): void {
    for (const [subject, since] of staleSince) {
      if (since <= read.order && isRead(subject)) staleSince.delete(subject);
    }
  }

  async function readAll(): Promise<void> {
    const read = now();
    const lists = await Promise.all(
      readers.map(async (reader) => {
        const list = await reader.all(cluster, io);
        const ours = list.filter((one) => one.owner?.cluster === cluster);
        return [list, await details.read(reader, ours, { nowMs: read.atMs, all: false }, io)] as const;
      }),
    );
    const parts = lists.flatMap(([, parts]) => parts);
    const shown = take([...lists.flatMap(([list]) => list), ...parts.flatMap(({ found }) => found)], read, lags);
    const detailed = new Set(parts.map(({ container }) => container));
    dropMissing(shown, read, lags, (one) => {
      const container = details.isDetail(one.kind) ? containerOf(one) : undefined;
      return container === undefined || detailed.has(container) || !shown.has(container);
    });
    audited = read;
    for (const [service, look] of looks) if (look.order < read.order) looks.delete(service);
    freshen(read, () => true);
  }

  async function look(query: Query): Promise<void> {
    const read = now();
    const ids = new Set(query.ids.map(identityOf));
    const readings = await Promise.all(
      readers.map(async (reader) => {
        const reading = await reader.of(query, io);
        const ours = reading.found.filter((one) => isOwnedBy(one, query.owner) || ids.has(identityOf(one)));
        const due = query.removing ? [] : ours;
        return [reading, await details.read(reader, due, { nowMs: read.atMs, all: true }, io)] as const;
      }),
    );
    const parts = readings.flatMap(([, parts]) => parts);
    const complete = new Set(readings.flatMap(([{ complete }]) => complete ?? []));
    const fresh = new Set(readings.flatMap(([{ isFresh }], at) => (isFresh ? readers[at]!.kinds : [])));
    const isFresh = (kind: string) => fresh.has(kind);
    const found = [...readings.flatMap(([{ found }]) => found), ...parts.flatMap(({ found }) => found)];
    const shown = take(found, read, isFresh);
    const detailed = new Set(parts.map(({ container }) => container));
    const slots = new Set(query.search ? query.slots : []);
    dropMissing(shown, read, isFresh, (one) => {
      if (complete.has(one.kind) || ids.has(identityOf(one)) || one.slots?.some((slot) => slots.has(slot))) return true;
      const container = containerOf(one);
      if (container === undefined) return false;
      if (details.isDetail(one.kind)) return detailed.has(container) || (ids.has(container) && !shown.has(container));
      return ids.has(container) || shown.has(container);
    });
    looks.set(query.owner.service, { ...read, ids, searched: query.search });
    freshen(read, (subject) => subject === query.owner.service || complete.has(subject.replace(/^kind /, '')));
  }

  return {
    audit() {
      auditing ??= readAll().finally(() => {
        auditing = undefined;
      });
      return auditing;
    },
    look,
    get auditedAtMs() {
      return audited?.atMs;
    },
    lookedAtMs: ({ service }) => looks.get(service)?.atMs ?? audited?.atMs ?? Number.NEGATIVE_INFINITY,
    lookOf: ({ service }) => looks.get(service),
    note(found) {
      listed = undefined;
      const at = now();
      for (const one of found) {
        entries.set(identityOf(one), { kind: one.kind, found: one, ...at, answered: true });
        const container = details.isDetail(one.kind) ? containerOf(one) : undefined;
        if (container !== undefined) details.noted(container, at.atMs);
      }
    },
    noteGone(found) {
      listed = undefined;
      const at = now();
      const identity = identityOf(found);
      const later = kinds.get(found.kind)?.gone === 'later';
      const left: Found | undefined = later ? { ...found, status: 'deleting' } : undefined;
      entries.set(identity, { kind: found.kind, found: left, ...at, answered: !later });
    },
    hold: (identity, operation) => {
      listed = undefined;
      held.set(identity, operation);
    },
    release(identity) {
      listed = undefined;
      held.delete(identity);
      const at = now();
      for (const [one, entry] of entries) {
        const { found } = entry;
        if (one !== identity && (found === undefined || containerOf(found) !== identity)) continue;
        const ended = one === identity && found?.status === 'pending';
        entries.set(one, {
          ...entry,
          ...(entry.answered && at),
          ...(ended && { found: { ...found, status: 'ready' } }),
        });
      }
    },
    invalidate(subject) {
      order += 1;
      staleSince.set('kind' in subject ? `kind ${subject.kind}` : subject.service, order);
    },
    isStale: ({ service }, wanted) =>
      staleSince.has(service) || [...wanted].some((kind) => staleSince.has(`kind ${kind}`)),
    forget({ service }) {
      looks.delete(service);
      staleSince.delete(service);
    },
    get: (identity) => entries.get(identity)?.found,
    all() {
      if (listed !== undefined) return listed;
      const list: Found[] = [];
      for (const [identity, { found }] of entries) {
        if (found === undefined) continue;
        const container = entries.get(containerOf(found) ?? '');
        // Parts go with their container.
        if (container !== undefined && container.found === undefined) continue;
        const operation = held.get(identity);
        list.push(operation === undefined ? found : { ...found, status: 'pending', operation });
      }
      listed = list;
      return list;
    },
  };
}
