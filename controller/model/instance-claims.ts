import { comparableId } from '../../common/provider-id/comparable-id.ts';
import { codecOf } from '../../common/provider-id/registry.ts';

/**
 * Which Node holds which instance, including Nodes whose providerID the cache does not show yet. An instance belongs to
 * one live Node: without claims, two Nodes that resolve to one instance at the same time would both be written.
 */
export interface InstanceClaims {
  /**
   * Claims the instance for the Node. Returns the name of another Node that holds it already and that `alive` confirms.
   */
  take(instanceKey: string, nodeName: string, alive: (nodeName: string) => boolean): string | undefined;
  /** As `take`, without a claim. */
  holder(instanceKey: string, nodeName: string, alive: (nodeName: string) => boolean): string | undefined;
  /** Records an initialised Node whose providerID names the instance. The first one keeps it. */
  note(instanceKey: string, nodeName: string): void;
  /** The node is gone. */
  release(nodeName: string): void;
}

/** The same key for all spellings of an instance's id. */
export function instanceKey(instance: { readonly cloud: string; readonly id: string }): string {
  return `${instance.cloud} ${comparableId(instance)}`;
}

/** The same key for all spellings of the providerID of an instance of this cloud. */
export function instanceOf(cloud: string, providerID: string): string {
  const id = codecOf(cloud).parse(providerID)?.instanceId;
  return id === undefined ? providerID : instanceKey({ cloud, id });
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

  function holder(key: string, nodeName: string, alive: (nodeName: string) => boolean): string | undefined {
    const other = holderOf.get(key);
    return other !== undefined && other !== nodeName && alive(other) ? other : undefined;
  }

  return {
    release,
    holder,
    note(key, nodeName) {
      if (!holderOf.has(key)) hold(key, nodeName);
    },
    take(key, nodeName, alive) {
      const other = holder(key, nodeName, alive);
      if (other === undefined) hold(key, nodeName);
      return other;
    },
  };
}
