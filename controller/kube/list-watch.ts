import { backoffMs } from '../../common/process/backoff.ts';
import { type Clock, sleep } from '../../common/process/clock.ts';
import { errorFields, type Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import { errorOfStatus } from './answer.ts';
import { isKubeError, type KubeApi, type WatchEvent } from './api.ts';
import type { Informer } from './informer.ts';
import { createObjectCache } from './object-cache.ts';
import { checkedObject, metadataOf, readPages, unreadable } from './paged-list.ts';

/** The metrics of a list-watch. `why` is one of a closed set. */
export interface ListWatchMetrics {
  /** A complete list was read: the first one, or another because the history was lost or the watches failed. */
  listed?(why: 'start' | 'expired' | 'silent' | 'failing', items: number, seconds: number): void;
  watchEnded?(why: 'orderly' | 'expired' | 'silent' | 'failed'): void;
  /** A handler threw, or an object could not be trimmed. */
  fault?(what: 'handler' | 'trim'): void;
}

export interface ListWatchOptions<T> {
  readonly api: KubeApi;
  /** Of the collection, e.g. `/api/v1/nodes`. */
  readonly path: string;
  /** Selectors. */
  readonly query?: Readonly<Record<string, string>>;
  /**
   * Creates the cached copy, so that the raw object is short-lived. It validates its input: after a throw the cache
   * keeps the previous copy.
   */
  readonly trim: (raw: unknown) => T;
  /** Names of array members that neither `trim` nor `keyOf` reads; they are not even parsed. */
  readonly unread?: readonly string[];
  /** Default: the name, or `namespace/name`. */
  readonly keyOf?: (raw: { readonly name: string; readonly namespace: string | undefined }) => string;
  /**
   * Default 50. The memory for reading one page: 5,000 Nodes of 10 KB raised the process by 27 MiB in pages of 50, 31
   * of 100, 40 of 250, 82 of 500 (Node 24.21, `--max-semi-space-size=1 --max-old-space-size=96`; twice that without),
   * at much the same time.
   */
  readonly pageSize?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: ListWatchMetrics;
}

export interface ListWatch<T> extends Informer<T> {
  start(): void;
  /** Resolves when the list-watch has stopped. */
  stop(): Promise<void>;
}

/**
 * After this long without an event the connection counts as dead. Bookmarks come about every minute, but on a quiet
 * resource some are missing (on a real server: none for two minutes).
 */
const silenceMs = 200_000;
/**
 * After this many silent watches the resource is listed again, e.g. when the version is newer than the server's (etcd
 * restored from a backup).
 */
const silentWatchesBeforeList = 3;
const failedWatchesBeforeList = 5;
/** How many times larger the pages of a list become whose version has expired. */
const largerPages = 10;
/**
 * A watch that ends cleanly without an event sooner than this counts as failed, so that such a server is not called in
 * a tight loop. One that is cut later is no sign of a server that fails: load balancers cut idle connections.
 */
const shortWatchMs = 1_000;

/**
 * Maintains a copy of one resource: a list in pages, then watches from the last observed version. Never gives up. Lists
 * again only when the server no longer has that version, when watches stay silent or when they keep failing. A later
 * list emits `deleted` for objects that were deleted in between, with their last known state.
 *
 * Handlers get objects page by page, before `synced`. A late subscriber gets `added` for all existing objects at once.
 * An event with an already observed version is dropped.
 */
export function createListWatch<T>(options: ListWatchOptions<T>): ListWatch<T> {
  const { api, path, query = {}, unread = [], clock, random, metrics } = options;
  const pageSize = options.pageSize ?? 50;
  const log = options.log.with({ path });
  const keyOf = options.keyOf ?? (({ name, namespace }) => (namespace === undefined ? name : `${namespace}/${name}`));
  const cache = createObjectCache<T>({
    trim: options.trim,
    log,
    ...(metrics?.fault ? { onFault: (what) => metrics.fault?.(what) } : {}),
  });
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let synced = false;
  let lastEventAt = clock.monotonic();
  /** The total number of events and bookmarks. */
  let eventCount = 0;
  let version = '';
  let failures = 0;
  const waiting: { resolve(): void; reject(error: unknown): void }[] = [];

  async function list(size: number): Promise<void> {
    cache.beginList();
    const listed = await readPages({
      api,
      path,
      query,
      pageSize: size,
      unread,
      signal: stopping.signal,
      pause,
      onPage(items) {
        lastEventAt = clock.monotonic();
        for (const item of items) cache.put(checkedObject(path, item, keyOf));
      },
    });
    cache.endList();
    version = listed;
  }

  function onEvent(event: WatchEvent): void {
    if (event.type === 'ERROR') throw errorOfStatus(`WATCH ${path}`, event.object);
    lastEventAt = clock.monotonic();
    eventCount += 1;
    if (event.type === 'BOOKMARK') {
      const { resourceVersion } = metadataOf(event.object);
      if (resourceVersion === undefined) throw unreadable(path, 'a bookmark without metadata.resourceVersion');
      version = resourceVersion;
      return;
    }
    const item = checkedObject(path, event.object, keyOf);
    if (event.type === 'DELETED') cache.remove(item);
    else cache.put(item);
    version = item.resourceVersion;
  }

  /** Runs one watch to its end. Throws the error that ended it, or a SilentWatch after too long a silence. */
  async function watchOnce(): Promise<void> {
    stopping.signal.throwIfAborted();
    const ended = new AbortController();
    const stop = () => ended.abort(stopping.signal.reason);
    stopping.signal.addEventListener('abort', stop);
    const startedAt = clock.monotonic();
    let silent = false;
    const check = () => {
      const quietMs = clock.monotonic() - Math.max(lastEventAt, startedAt);
      if (quietMs >= silenceMs) {
        silent = true;
        ended.abort(new Error('silent'));
      } else {
        timer = clock.setTimer(silenceMs - quietMs, check);
      }
    };
    let timer = clock.setTimer(silenceMs, check);
    // Between 5 and 10 minutes, so that many watches do not reconnect at the same time.
    const timeoutSeconds = String(Math.floor(300 + random() * 300));
    const eventsBefore = eventCount;
    try {
      await api.watch({
        path,
        query: { ...query, allowWatchBookmarks: 'true', resourceVersion: version, timeoutSeconds },
        unread,
        signal: ended.signal,
        onEvent,
      });
    } catch (error) {
      throw silent ? new SilentWatch() : error;
    } finally {
      timer.cancel();
      stopping.signal.removeEventListener('abort', stop);
    }
    if (silent) throw new SilentWatch();
    lastEventAt = clock.monotonic();
    if (eventCount === eventsBefore && lastEventAt - startedAt < shortWatchMs)
      throw unreadable(path, 'the watch ended at once, without an event');
  }

  async function pause(error: unknown, tries: number): Promise<void> {
    const asked = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
    const delay = Math.max(asked, backoffMs(tries, { firstMs: 800, maxMs: 30_000, jitter: 0.3, random }));
    const fields = { ...errorFields(error), failures: tries, retryInMs: Math.round(delay) };
    log.warn('watch failed; trying again', { path, ...fields });
    await sleep(clock, delay, stopping.signal);
  }

  async function listUntilDone(why: 'start' | 'expired' | 'silent' | 'failing'): Promise<void> {
    for (let size = pageSize; ; ) {
      const startedAt = clock.monotonic();
      try {
        await list(size);
        metrics?.listed?.(why, cache.size, (clock.monotonic() - startedAt) / 1000);
        break;
      } catch (error) {
        if (stopping.signal.aborted) throw error;
        // The continue token has expired, because the server is too slow for so many pages: start over with fewer.
        // Not with one, which a process with little memory could not hold.
        if (!isExpired(error) || size > pageSize) await pause(error, ++failures);
        if (isExpired(error)) size = pageSize * largerPages;
      }
    }
    if (synced) return;
    synced = true;
    for (const { resolve } of waiting.splice(0)) resolve();
  }

  async function follow(): Promise<void> {
    let why: 'start' | 'expired' | 'silent' | 'failing' | undefined = 'start';
    let silentInARow = 0;
    let failedInARow = 0;
    let expiredInARow = 0;
    for (;;) {
      if (why !== undefined) {
        await listUntilDone(why);
        why = undefined;
      }
      const eventsBefore = eventCount;
      const startedAt = clock.monotonic();
      try {
        await watchOnce();
        if (stopping.signal.aborted) return;
        failures = failedInARow = silentInARow = expiredInARow = 0;
        metrics?.watchEnded?.('orderly');
      } catch (error) {
        if (stopping.signal.aborted) return;
        // However it ended, it delivered events, so the failures are not consecutive.
        if (eventCount !== eventsBefore) failures = failedInARow = silentInARow = expiredInARow = 0;
        if (error instanceof SilentWatch) {
          metrics?.watchEnded?.('silent');
          silentInARow += 1;
          log.info('a watch was silent; reconnecting', { silentInARow });
          if (silentInARow >= silentWatchesBeforeList) {
            why = 'silent';
            silentInARow = 0;
          }
        } else if (isExpired(error)) {
          metrics?.watchEnded?.('expired');
          expiredInARow += 1;
          // The version expired again without any event since the last list: the server is overloaded or faulty.
          if (expiredInARow > 1) await pause(error, ++failures);
          why = 'expired';
        } else {
          metrics?.watchEnded?.('failed');
          if (isCut(error) && clock.monotonic() - startedAt >= shortWatchMs) failures = failedInARow = 0;
          failedInARow += 1;
          await pause(error, ++failures);
          if (failedInARow >= failedWatchesBeforeList && listMayHelp(error)) {
            why = 'failing';
            failedInARow = 0;
          }
        }
      }
    }
  }

  return {
    get synced() {
      return synced;
    },
    whenSynced() {
      if (synced) return Promise.resolve();
      if (stopping.signal.aborted) return Promise.reject(stopping.signal.reason);
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    get: (key) => cache.get(key),
    values: () => cache.values(),
    get size() {
      return cache.size;
    },
    stalenessMs: () => clock.monotonic() - lastEventAt,
    subscribe: (handler) => cache.subscribe(handler),
    start() {
      running ??= follow().catch((error) => {
        if (!stopping.signal.aborted) log.error('following the resource ended', errorFields(error));
      });
    },
    async stop() {
      if (!stopping.signal.aborted) stopping.abort(new Error(`${path}: stopped before it was synced`));
      for (const { reject } of waiting.splice(0)) reject(stopping.signal.reason);
      await running;
    },
  };
}

class SilentWatch extends Error {}

function isCut(error: unknown): boolean {
  return isKubeError(error) && error.reason === 'Cut';
}

/** The server answered, and not that it is overloaded: a list would burden it further. */
function listMayHelp(error: unknown): boolean {
  return isKubeError(error) && ![0, 429, 503, 504].includes(error.status);
}

/** 410, as a status or as the error event of a stream. */
function isExpired(error: unknown): boolean {
  return isKubeError(error) && error.status === 410;
}
