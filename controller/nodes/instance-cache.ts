import type { Instance } from '../../common/instance.ts';

/** The instance of a Node as last read, and when (monotonic). */
export interface CachedInstance {
  readonly uid: string;
  readonly instance: Instance;
  readonly scope: string;
  readonly readAtMs: number;
}

/** The last instance found for each Node, so that a change of the Node alone needs no cloud call. In memory only. */
export interface InstanceCache {
  /** The entry of this Node object; undefined for one re-created under the same name. */
  get(nodeName: string, uid: string): CachedInstance | undefined;
  /** Stores the entry. Returns whether the instance changed. */
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
      // An unchanged instance keeps its first object, so that equal answers do not accumulate in the old generation of
      // the heap.
      known.set(nodeName, changed || before === undefined ? next : { ...next, instance: before.instance });
      return changed;
    },
    forget: (nodeName) => known.delete(nodeName),
  };
}
