import type { Basics } from './basics.ts';
import { createDetails } from './details.ts';
import { type Found, identityOf, isOwnedBy, type Owner, type Query, type Reader, type Reading } from './resource.ts';

type IsFresh = (kind: string) => boolean;

/** A moment: in the order of this process, and in milliseconds. */
export interface Moment {
  readonly order: number;
  readonly atMs: number;
}

/** The newest read or answer about one resource. `found` undefined: it is gone, although a list may still show it. */
interface Entry extends Moment {
  readonly kind: string;
  readonly found: Found | undefined;
  /** From the answer to a call of ours: lists may not show it yet. */
  readonly answered: boolean;
  /** A later call of ours has changed it and did not answer its state: what a read shows of it wins. */
  readonly isOutdated?: true;
}

/** The scope of a narrow read. */
interface NarrowRead extends Moment {
  readonly ids: ReadonlySet<string>;
  readonly searched: boolean;
}

export type Inventory = ReturnType<typeof createInventory>;

/** The resources of a cluster in a scope, by id: from complete audits, narrow reads and the answers to our calls. */
export function createInventory(
  readers: readonly Reader[],
  { kinds, cluster, clock, found: index, signal }: Pick<Basics, 'kinds' | 'cluster' | 'clock' | 'found' | 'signal'>,
) {
  const io = { signal };
  const entries = new Map<string, Entry>();
  /** Identities of the parts of each container. */
  const partsOf = new Map<string, Set<string>>();
  const narrowReads = new Map<string, NarrowRead>();
  const staleSince = new Map<string, number>();
  /** When a read of one owner last lacked a resource of others, by their Service, or by identity without marks. */
  const missedBy = new Map<string, number>();
  const held = new Map<string, string>();
  const deleting = new Set<string>();
  const details = createDetails(readers);
  let order = 0;
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

  function put(identity: string, entry: Entry | undefined): void {
    const before = entries.get(identity)?.found;
    const last = before && containerOf(before);
    const container = entry?.found && containerOf(entry.found);
    if (last !== undefined && last !== container) {
      partsOf.get(last)?.delete(identity);
      if (partsOf.get(last)?.size === 0) partsOf.delete(last);
    }
    if (container !== undefined) partsOf.set(container, (partsOf.get(container) ?? new Set()).add(identity));
    if (entry === undefined) entries.delete(identity);
    else entries.set(identity, entry);
    show(identity);
  }

  function show(identity: string): void {
    index.set(identity, shownOf(identity));
    for (const part of partsOf.get(identity) ?? []) show(part);
  }

  /** The resource as plans use it. */
  function shownOf(identity: string): Found | undefined {
    const found = entries.get(identity)?.found;
    const container = found && entries.get(containerOf(found) ?? '');
    // Parts are deleted with their container.
    if (found === undefined || (container !== undefined && container.found === undefined)) return undefined;
    if (deleting.has(identity)) return { ...found, status: 'deleting' };
    const operation = held.get(identity);
    return operation === undefined ? found : { ...found, status: 'pending', operation };
  }

  /**
   * Whether an entry is newer than a read, because the read began before lists could show the answer.
   *
   * @param isSeen the read shows the resource
   */
  function isNewerThan(identity: string, entry: Entry, read: Moment, isFresh: IsFresh, isSeen = false): boolean {
    if (entry.order > read.order || held.has(identity)) return true;
    if (entry.found !== undefined && held.has(containerOf(entry.found) ?? '')) return true;
    if (isFresh(entry.kind) || (isSeen && entry.isOutdated)) return false;
    return entry.answered && entry.atMs + (kinds.get(entry.kind)?.settleMs ?? 0) > read.atMs;
  }

  function apply(found: readonly Found[], read: Moment, isFresh: IsFresh): ReadonlySet<string> {
    const shown = new Set<string>();
    for (const one of found) {
      const identity = identityOf(one);
      shown.add(identity);
      const entry = entries.get(identity);
      if (entry === undefined || !isNewerThan(identity, entry, read, isFresh, true))
        put(identity, { kind: one.kind, found: one, ...read, answered: false });
    }
    return shown;
  }

  /** Reads all lists, and the details that are due. A resource that a complete list lacks is gone. */
  async function readWith(began: Moment, readOne: (reader: Reader) => Promise<Reading>, query: Query | undefined) {
    const ids = new Set(query?.ids.map(identityOf));
    const isOurs = (one: Found) =>
      one.adoptable ||
      (query === undefined ? one.owner?.cluster === cluster : isOwnedBy(one, query.owner) || ids.has(identityOf(one)));
    const readings = await Promise.all(
      readers.map(async (reader) => {
        const reading = await readOne(reader);
        const due = query?.removing ? [] : reading.found.filter(isOurs);
        const parts = await details.read(reader, due, { nowMs: began.atMs, all: query !== undefined }, io);
        return { ...reading, kinds: reader.kinds, parts };
      }),
    );
    const parts = readings.flatMap((reading) => reading.parts);
    const complete = new Set(readings.flatMap((reading) => reading.complete ?? []));
    const isComplete = (kind: string | undefined) => query === undefined || complete.has(kind ?? '');
    const fresh = new Set(readings.flatMap((reading) => (reading.isFresh ? reading.kinds : [])));
    const isFresh = (kind: string) => fresh.has(kind);
    const detailed = new Set(
      parts.flatMap(({ container, kinds: read }) => read.map((kind) => `${kind} in ${container}`)),
    );
    const slots = new Set(query?.search ? query.slots : []);
    const shown = apply(
      [...readings, ...parts].flatMap(({ found }) => found),
      began,
      isFresh,
    );

    /** Services with something that this read could not see. */
    const unread = new Set<string>();

    function isCovered(one: Found): boolean {
      const container = containerOf(one);
      const isGone = container !== undefined && !shown.has(container);
      const isContainerRead = ids.has(container ?? '') || isComplete(kinds.get(one.kind)?.within);
      if (container !== undefined && details.isDetail(one.kind))
        return detailed.has(`${one.kind} in ${container}`) || (isContainerRead && isGone);
      if (isComplete(one.kind) || ids.has(identityOf(one)) || one.slots?.some((slot) => slots.has(slot))) return true;
      return container !== undefined && (isContainerRead || !isGone);
    }
    function drop(identity: string): void {
      const found = entries.get(identity)?.found;
      const service = found?.owner?.service;
      if (query !== undefined && found !== undefined && service !== query.owner.service)
        missedBy.set(service ?? identity, began.order);
      put(identity, undefined);
    }
    const isUnknown = (one: Found) => query === undefined && readers.some((reader) => reader.isUnknown?.(one));
    for (const [identity, entry] of entries) {
      if (shown.has(identity) || isNewerThan(identity, entry, began, isFresh)) continue;
      if (entry.found !== undefined && !isCovered(entry.found)) continue;
      if (entry.found !== undefined && isUnknown(entry.found)) {
        if (entry.found.owner !== undefined) unread.add(entry.found.owner.service);
        continue;
      }
      for (const part of partsOf.get(identity) ?? []) drop(part);
      drop(identity);
    }
    for (const [subject, since] of staleSince) {
      const isRead = subject === query?.owner.service || isComplete(subject.replace(/^kind /, ''));
      if (since <= began.order && isRead) staleSince.delete(subject);
    }
    for (const service of unread) staleSince.set(service, began.order);
  }

  async function readAll(): Promise<void> {
    const began = now();
    await readWith(began, async (reader) => ({ found: await reader.all(cluster, io) }), undefined);
    audited = began;
    for (const [service, read] of narrowReads) if (read.order < began.order) narrowReads.delete(service);
    for (const [subject, order] of missedBy) if (order < began.order) missedBy.delete(subject);
  }

  /** Reads one owner. */
  async function read(query: Query): Promise<void> {
    const began = now();
    await readWith(began, (reader) => reader.of(query, io), query);
    const ids = new Set(query.ids.map(identityOf));
    narrowReads.set(query.owner.service, { ...began, ids, searched: query.search });
  }

  return {
    /** Reads everything. One audit at a time: callers share it. */
    audit(): Promise<void> {
      auditing ??= readAll().finally(() => {
        auditing = undefined;
      });
      return auditing;
    },
    read,
    get isAudited() {
      return audited !== undefined;
    },
    /** When the latest read that shows this owner began. */
    readAtMs: ({ service }: Owner) => narrowReads.get(service)?.atMs ?? audited?.atMs ?? Number.NEGATIVE_INFINITY,
    /** The scope of the last narrow read of this owner; undefined where an audit is newer. */
    lastReadOf: ({ service }: Owner) => narrowReads.get(service),
    /** Records the answers of successful calls of our own. */
    note(found: readonly Found[]): void {
      const at = now();
      for (const one of found) {
        put(identityOf(one), { kind: one.kind, found: one, ...at, answered: true });
        const container = details.isDetail(one.kind) ? containerOf(one) : undefined;
        if (container !== undefined) details.noted(one.kind, container, at.atMs);
      }
    },
    /** A call has changed it and did not answer how it is now. */
    noteChanged(found: Found): void {
      const entry = entries.get(identityOf(found));
      if (entry?.answered) entries.set(identityOf(found), { ...entry, isOutdated: true });
    },
    /** A removal has succeeded. */
    noteGone(found: Found): void {
      put(identityOf(found), { kind: found.kind, found: undefined, ...now(), answered: true });
    },
    /**
     * An operation of ours is in progress: until `release`, reads do not replace the state from our answer. After a
     * failed operation, the next read does.
     */
    hold(identity: string, operation: string): void {
      held.set(identity, operation);
      show(identity);
    },
    release(identity: string, isDone: boolean): void {
      held.delete(identity);
      const at = now();
      for (const one of [identity, ...(partsOf.get(identity) ?? [])]) {
        const entry = entries.get(one);
        if (entry === undefined) continue;
        const { found, answered } = entry;
        const ended = one === identity && found?.status === 'pending' ? { ...found, status: 'ready' as const } : found;
        put(one, isDone ? { ...entry, ...(answered && at), found: ended } : { ...entry, answered: false });
      }
    },
    /** From now on it counts as being deleted; or no longer, because the call failed. */
    setDeleting(found: Found, is: boolean): void {
      const identity = identityOf(found);
      if (is) deleting.add(identity);
      else deleting.delete(identity);
      show(identity);
    },
    /** The outcome of a call is unclear: this owner, or this kind, is stale until a read succeeds. */
    invalidate(subject: Owner | { readonly kind: string }): void {
      order += 1;
      staleSince.set('kind' in subject ? `kind ${subject.kind}` : subject.service, order);
    },
    isStale: ({ service }: Owner, kindNames: ReadonlySet<string>) =>
      staleSince.has(service) || [...kindNames].some((kind) => staleSince.has(`kind ${kind}`)),
    /**
     * A read of another owner lacked a resource of this one, by its marks or with one of these identities, and no read
     * of this one has succeeded since.
     */
    isDoubtful({ service }: Owner, identities: () => readonly string[]): boolean {
      if (missedBy.size === 0) return false;
      const readOrder = narrowReads.get(service)?.order ?? audited?.order ?? 0;
      return [service, ...identities()].some((one) => (missedBy.get(one) ?? 0) > readOrder);
    },
    /** Drops what is stored about reads of an owner that was removed. */
    forget({ service }: Owner): void {
      narrowReads.delete(service);
      staleSince.delete(service);
    },
    get: (identity: string) => entries.get(identity)?.found,
  };
}
