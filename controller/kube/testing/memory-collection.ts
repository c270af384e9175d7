import { type KubeApi, type KubeCall, KubeError, type WatchCall, type WatchEvent } from '../api.ts';

export interface MemoryObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** One collection of Nodes behind the list and watch part of the API, whose failures a test decides. */
export interface MemoryCollection {
  readonly api: KubeApi;
  readonly lists: readonly KubeCall[];
  readonly watches: readonly WatchCall[];
  /** How many watches are open. */
  readonly open: number;
  put(name: string, spec?: Readonly<Record<string, unknown>>, uid?: string): void;
  remove(name: string): void;
  /** Forgets what happened before now: older versions are answered with 410. */
  expireHistory(): void;
  bookmark(): void;
  /** Ends every open watch: in order, or with this error. */
  endWatches(error?: unknown): void;
  /** Sends an event of any kind to every open watch. */
  send(event: WatchEvent): void;
  /** Answers the next calls of this kind with these, in turn; a function runs before the call and may change things. */
  failNext(kind: 'list' | 'watch', ...with_: (Error | (() => void))[]): void;
  /** While true, open and new watches get no events. */
  mute: boolean;
}

interface OpenWatch {
  onEvent(event: WatchEvent): void;
  resolve(): void;
  reject(error: unknown): void;
}

export function expired(): KubeError {
  return new KubeError({ status: 410, reason: 'Expired', message: 'too old' });
}

export function memoryCollection(): MemoryCollection {
  const objects = new Map<string, MemoryObject>();
  const history: { version: number; event: WatchEvent }[] = [];
  const snapshots = new Map<string, { version: number; items: MemoryObject[] }>();
  const watches: WatchCall[] = [];
  const lists: KubeCall[] = [];
  const open = new Set<OpenWatch>();
  const failures: Record<'list' | 'watch', (Error | (() => void))[]> = { list: [], watch: [] };
  let version = 100;
  let oldest = 0;
  let uids = 0;
  let mute = false;

  function send(event: WatchEvent): void {
    if (mute) return;
    for (const watch of [...open]) {
      try {
        watch.onEvent(event);
      } catch (error) {
        open.delete(watch);
        watch.reject(error);
      }
    }
  }

  function record(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: MemoryObject): void {
    history.push({ version, event: { type, object } });
    send({ type, object });
  }

  function takeFailure(kind: 'list' | 'watch'): void {
    const next = failures[kind].shift();
    if (next instanceof Error) throw next;
    next?.();
  }

  async function list(call: KubeCall): Promise<unknown> {
    lists.push(call);
    takeFailure('list');
    const { limit = '0', continue: token } = call.query ?? {};
    const [at, offset] =
      token === undefined ? [String(version), 0] : [token.split('/')[0]!, Number(token.split('/')[1])];
    if (Number(at) < oldest) throw expired();
    const items = [...objects.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    const snapshot = token === undefined ? { version, items } : snapshots.get(at)!;
    snapshots.set(at, snapshot);
    const end = offset + (Number(limit) || items.length);
    const more = end < snapshot.items.length ? { continue: `${at}/${end}` } : {};
    return {
      kind: 'NodeList',
      metadata: { resourceVersion: String(snapshot.version), ...more },
      items: structuredClone(snapshot.items.slice(offset, end)),
    };
  }

  function watch(call: WatchCall): Promise<void> {
    watches.push(call);
    return new Promise((resolve, reject) => {
      takeFailure('watch');
      const from = Number(call.query['resourceVersion']);
      const entry: OpenWatch = { onEvent: call.onEvent, resolve, reject };
      call.signal.addEventListener('abort', () => {
        open.delete(entry);
        reject(new KubeError({ status: 0, reason: 'Aborted', message: 'given up' }));
      });
      open.add(entry);
      if (mute) return;
      const events: WatchEvent[] =
        from < oldest
          ? [
              {
                type: 'ERROR',
                object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' },
              },
            ]
          : history.filter((past) => past.version > from).map((past) => past.event);
      try {
        for (const event of events) call.onEvent(structuredClone(event));
      } catch (error) {
        open.delete(entry);
        reject(error);
      }
    });
  }

  return {
    api: { call: (call) => list(call) as Promise<never>, watch },
    lists,
    watches,
    get open() {
      return open.size;
    },
    put(name, spec = {}, uid) {
      version += 1;
      const before = objects.get(name);
      const id = uid ?? before?.metadata.uid ?? `uid-${++uids}`;
      const object = { kind: 'Node', metadata: { name, uid: id, resourceVersion: String(version) }, spec };
      objects.set(name, object);
      record(before ? 'MODIFIED' : 'ADDED', object);
    },
    remove(name) {
      version += 1;
      const before = objects.get(name)!;
      objects.delete(name);
      record('DELETED', { ...before, metadata: { ...before.metadata, resourceVersion: String(version) } });
    },
    expireHistory() {
      version += 1;
      oldest = version;
      history.length = 0;
    },
    bookmark: () =>
      send({ type: 'BOOKMARK', object: { kind: 'Node', metadata: { resourceVersion: String(version) } } }),
    endWatches(error) {
      for (const entry of [...open]) {
        open.delete(entry);
        if (error === undefined) entry.resolve();
        else entry.reject(error);
      }
    },
    send,
    failNext: (kind, ...with_) => failures[kind].push(...with_),
    get mute() {
      return mute;
    },
    set mute(value) {
      mute = value;
    },
  };
}
