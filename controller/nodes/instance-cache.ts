import type { Instance } from '../../common/instance.ts';

/** What was last read of a node's instance, and when (monotonic). */
export interface CachedInstance {
  readonly uid: string;
  readonly instance: Instance;
  readonly scope: string;
  readonly readAtMs: number;
}

/** The last good answer for each Node, so that a change of the Node alone costs no cloud call. In memory only. */
export interface InstanceCache {
  /** For this very Node object. */
  get(nodeName: string, uid: string): CachedInstance | undefined;
  /** Keeps it; answers whether what is known changed. */
  put(nodeName: string, known: CachedInstance): boolean;
  forget(nodeName: string): void;
}

export function createInstanceCache(): InstanceCache {
  const known = new Map<string, CachedInstance>();
  return {
    get(nodeName, uid) {
      const held = known.get(nodeName);
      return held?.uid === uid ? held : undefined;
    },
    put(nodeName, next) {
      const before = known.get(nodeName);
      const changed =
        before === undefined ||
        before.uid !== next.uid ||
        before.scope !== next.scope ||
        JSON.stringify(before.instance) !== JSON.stringify(next.instance);
      // An unchanged instance keeps its first object, so that equal answers do not pile up in the old heap.
      known.set(nodeName, changed || before === undefined ? next : { ...next, instance: before.instance });
      return changed;
    },
    forget: (nodeName) => known.delete(nodeName),
  };
}
