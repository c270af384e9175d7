import type { Client, KubeObject, Watch } from '../test/conformance/client.ts';

/** Counts the objects of a collection that fit, as a watch shows them. */
export interface Watching {
  /** Resolves with `Date.now()` of the moment at which `count` objects fitted. Throws when that takes too long. */
  reached(count: number, timeoutMs: number): Promise<number>;
  stop(): void;
}

/** Watches from now on what any program writes there, so that it is timed by the effect and not by its own word. */
export async function watchFor(client: Client, path: string, fits: (object: KubeObject) => boolean): Promise<Watching> {
  const fitting = new Set<string>();
  const waiting = new Set<() => void>();
  let failure: unknown;
  let stopped = false;

  function note(object: KubeObject, there: boolean): void {
    const key = `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
    if (there && fits(object)) fitting.add(key);
    else fitting.delete(key);
  }

  /** Begins with all there is. */
  async function open(): Promise<Watch> {
    const list = await client.call('GET', path);
    if (list.status !== 200) throw new Error(`GET ${path}: ${list.status}`);
    fitting.clear();
    for (const object of list.items) note(object, true);
    const { resourceVersion } = (list.body as { metadata: { resourceVersion: string } }).metadata;
    return client.watch(path, { resourceVersion, timeoutSeconds: 3600 });
  }

  let watch = await open();

  async function follow(): Promise<void> {
    while (!stopped) {
      // Throws when nothing comes for so long.
      const event = await watch.next(500).catch(() => 'nothing' as const);
      if (stopped || event === 'nothing') continue;
      if (event === undefined || event.type === 'ERROR') {
        // A server lets go of watchers that cannot follow.
        watch.close();
        watch = await open();
      } else note(event.object, event.type !== 'DELETED');
      for (const wake of waiting) wake();
    }
  }

  const following = follow().catch((error: unknown) => {
    if (!stopped) failure = error;
    for (const wake of waiting) wake();
  });

  return {
    reached: (count, timeoutMs) =>
      new Promise((resolve, reject) => {
        const settle = () => {
          if (failure !== undefined) finish(() => reject(failure));
          else if (fitting.size >= count) finish(() => resolve(Date.now()));
        };
        const late = setTimeout(
          () => finish(() => reject(new Error(`${fitting.size} of ${count} at ${path} after ${timeoutMs / 1000} s`))),
          timeoutMs,
        );
        function finish(end: () => void): void {
          clearTimeout(late);
          waiting.delete(settle);
          end();
        }
        waiting.add(settle);
        settle();
      }),
    stop() {
      stopped = true;
      watch.close();
      void following;
    },
  };
}
