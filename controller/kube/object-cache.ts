import { errorFields, type Log } from '../../common/process/log.ts';
import type { InformerEvent } from './informer.ts';

/** The validated metadata of an API object; the caller reads the rest from `raw`. */
export interface RawObject {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly raw: unknown;
}

interface Entry<T> {
  readonly object: T;
  readonly uid: string;
  readonly resourceVersion: string;
  /** The list in which, or after which, it was last observed. */
  generation: number;
}

/** The objects of one resource, and the handlers of their changes. */
export interface ObjectCache<T> {
  get(key: string): T | undefined;
  values(): Iterable<T>;
  readonly size: number;
  subscribe(handler: (event: InformerEvent<T>) => void): void;
  /** Adds or updates the object. */
  put(item: RawObject): void;
  /** Removes the object with this uid; another one of the same name stays. */
  remove(item: RawObject): void;
  /** From here to `endList`, `put` marks the objects of the list. */
  beginList(): void;
  /** Removes the objects that were not in the list. */
  endList(): void;
}

/**
 * `trim` creates the cached copy. If it throws, the object keeps its previous state and the others are not affected. A
 * handler that throws is logged and does not affect the others.
 */
export function createObjectCache<T>(options: {
  readonly trim: (raw: unknown) => T;
  readonly log: Log;
  readonly onFault?: (what: 'handler' | 'trim') => void;
}): ObjectCache<T> {
  const { trim, log, onFault } = options;
  const entries = new Map<string, Entry<T>>();
  const handlers: ((event: InformerEvent<T>) => unknown)[] = [];
  let generation = 0;

  function handlerFailed(error: unknown): void {
    onFault?.('handler');
    log.error('a handler of changes failed', errorFields(error));
  }

  function tell(handler: (event: InformerEvent<T>) => unknown, event: InformerEvent<T>): void {
    try {
      const result = handler(event);
      if (result instanceof Promise) result.catch(handlerFailed);
    } catch (error) {
      handlerFailed(error);
    }
  }

  function emit(event: InformerEvent<T>): void {
    for (const handler of handlers) tell(handler, event);
  }

  function drop(key: string, entry: Entry<T>): void {
    entries.delete(key);
    emit({ type: 'deleted', key, old: entry.object });
  }

  return {
    get: (key) => entries.get(key)?.object,
    *values() {
      for (const entry of entries.values()) yield entry.object;
    },
    get size() {
      return entries.size;
    },
    subscribe(handler) {
      handlers.push(handler);
      for (const [key, entry] of [...entries]) tell(handler, { type: 'added', key, object: entry.object });
    },
    put({ key, uid, resourceVersion, raw }) {
      const previous = entries.get(key);
      if (previous?.uid === uid && previous.resourceVersion === resourceVersion) {
        previous.generation = generation;
        return;
      }
      let object: T;
      try {
        object = trim(raw);
      } catch (error) {
        onFault?.('trim');
        log.error('an object cannot be read; its last copy stays', { key, ...errorFields(error) });
        if (previous) previous.generation = generation;
        return;
      }
      const same = previous?.uid === uid;
      if (previous && !same) drop(key, previous);
      entries.set(key, { object, uid, resourceVersion, generation });
      if (previous && same) emit({ type: 'updated', key, old: previous.object, object });
      else emit({ type: 'added', key, object });
    },
    remove({ key, uid }) {
      const previous = entries.get(key);
      if (previous?.uid === uid) drop(key, previous);
    },
    beginList() {
      generation += 1;
    },
    endList() {
      for (const [key, entry] of entries) if (entry.generation !== generation) drop(key, entry);
    },
  };
}
