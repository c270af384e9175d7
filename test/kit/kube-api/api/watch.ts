import type { Timer } from '../../../../common/process/clock.ts';
import { ApiError } from '../api-error.ts';
import type { Change, Stored } from '../store/store.ts';
import type { WatchEncoder, WatchLine } from '../view/watch-encoder.ts';
import { list, type Selection } from './list.ts';
import { collectionOf, type Target } from './target.ts';
import { readFlag, readInteger } from './write-options.ts';

/** Who reads a watch. Lines come one after the other, never before `start` returns its first. */
export interface WatchSink {
  line(line: WatchLine): void;
  /** No more lines; `cut` = the connection broke instead of ending. */
  end(cut: boolean): void;
}

/** An answer that goes on. Nothing is sent or missed before `start`. */
export interface WatchStream {
  readonly target: Target;
  start(sink: WatchSink): void;
  /** The reader went away. Safe to repeat. */
  close(): void;
  /** The server ends it, orderly or as a broken connection. Safe to repeat. */
  end(cut: boolean): void;
}

const bookmarkEveryMs = 60_000;

interface Options {
  readonly revision: number | undefined;
  readonly bookmarks: boolean;
  /** Objects that exist are sent first. */
  readonly initial: boolean;
  /** A bookmark says where they end. */
  readonly mark: boolean;
  readonly timeoutMs: number;
}

function readOptions(target: Target, query: URLSearchParams): Options {
  const text = query.get('resourceVersion') ?? '';
  if (!/^\d*$/.test(text)) {
    const why = `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`;
    throw new ApiError(500, '', `resourceVersion: Invalid value: ${JSON.stringify(text)}: ${why}`);
  }
  const revision = text === '' || text === '0' ? undefined : Number(text);
  const bookmarks = readFlag(query, 'allowWatchBookmarks');
  const asked = query.get('sendInitialEvents');
  const send = asked === null ? revision === undefined : readFlag(query, 'sendInitialEvents');
  const seconds = readInteger(query, 'timeoutSeconds') ?? 0;
  // The server's own limit lies between 30 and 60 minutes, drawn for each watch.
  const timeoutMs = seconds > 0 ? seconds * 1000 : 1_800_000 * (1 + target.world.random());
  const mark = send && bookmarks && (asked !== null || text === '');
  return { revision, bookmarks, initial: send, mark, timeoutMs };
}

/** A watch over the selected objects. Throws for invalid options; an expired revision is reported in the stream. */
export function watch(
  target: Target,
  selection: Selection,
  query: URLSearchParams,
  encoder: WatchEncoder,
): WatchStream {
  const options = readOptions(target, query);
  const { store, clock } = target.world;
  const collection = collectionOf(target);
  const timers: Timer[] = [];
  let sink: WatchSink | undefined;
  let unsubscribe = () => {};
  let over = false;
  // Nothing up to this revision is told again.
  let told = 0;

  function stop(): void {
    over = true;
    unsubscribe();
    for (const timer of timers) timer.cancel();
  }

  function tell(change: Change): void {
    if (over || change.revision <= told) return;
    told = change.revision;
    const now = change.type !== 'DELETED' && selection.matches(change.object);
    const before = change.previous !== undefined && selection.matches(change.previous);
    if (now) sink?.line(encoder.change(before ? 'MODIFIED' : 'ADDED', change));
    else if (before) sink?.line(encoder.change('DELETED', change));
  }

  function bookmark(initialEnd: boolean): void {
    if (!over) sink?.line(encoder.bookmark(store.revision, initialEnd));
  }

  function everyMinute(): void {
    timers[1] = clock.setTimer(bookmarkEveryMs, () => {
      bookmark(false);
      if (!over) everyMinute();
    });
  }

  function sendInitial(): void {
    const items: readonly Stored[] = list(target, selection, new URLSearchParams()).items;
    told = store.revision;
    for (const item of items) {
      if (!over) sink?.line(encoder.initial(item));
    }
    if (options.mark) bookmark(true);
  }

  function replay(from: number): void {
    const missed = store.since(collection, from);
    if (missed === undefined) {
      sink?.line(encoder.expired(from, collection.floor + 1));
      stop();
      sink?.end(false);
      return;
    }
    told = from;
    for (const change of missed) tell(change);
  }

  return {
    target,
    start(reader) {
      if (over) return;
      sink = reader;
      timers[0] = clock.setTimer(options.timeoutMs, () => this.end(false));
      if (options.bookmarks) everyMinute();
      unsubscribe = store.watch(collection, tell);
      if (options.initial) sendInitial();
      else replay(options.revision ?? store.revision);
    },
    close: stop,
    end(cut) {
      if (over) return;
      stop();
      sink?.end(cut);
    },
  };
}
