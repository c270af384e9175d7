import { comparableId } from '../../common/provider-id/comparable-id.ts';

/**
 * Which Node holds which instance, including Nodes whose providerID has not come back through the cache yet. One instance, one live Node: without this two
 * Nodes that claim one instance in the same moment would both be written.
 */
export interface InstanceClaims {
  /** Takes the instance for the node; answers the name of the Node that holds it already, if that is another one for which `alive` says yes. */
  take(instanceKey: string, nodeName: string, alive: (nodeName: string) => boolean): string | undefined;
  /** Notes an initialised Node that shows the instance in its providerID. The first one keeps it. */
  note(instanceKey: string, nodeName: string): void;
  /** The node is gone. */
  release(nodeName: string): void;
}

/** One key for one instance, however its id is spelled. */
export function instanceKey(instance: { readonly cloud: string; readonly id: string }): string {
  return `${instance.cloud} ${comparableId(instance)}`;
}

export function createInstanceClaims(): InstanceClaims {
  const holderOf = new Map<string, string>();
  const heldBy = new Map<string, string>();

  function release(nodeName: string): void {
    const key = heldBy.get(nodeName);
    heldBy.delete(nodeName);
    if (key !== undefined && holderOf.get(key) === nodeName) holderOf.delete(key);
  }

  function hold(key: string, nodeName: string): void {
    if (heldBy.get(nodeName) !== key) release(nodeName);
    heldBy.set(nodeName, key);
    holderOf.set(key, nodeName);
  }

  return {
    release,
    note(key, nodeName) {
      if (!holderOf.has(key)) hold(key, nodeName);
    },
    take(key, nodeName, alive) {
      const holder = holderOf.get(key);
      if (holder !== undefined && holder !== nodeName && alive(holder)) return holder;
      hold(key, nodeName);
      return undefined;
    },
  };
}
