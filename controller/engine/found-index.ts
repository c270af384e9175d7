import { everyService, type Found, identityOf, type Kind } from './resource.ts';

/** Everything found, indexed for planning. An array is never changed, but replaced when something in it changes. */
export interface FoundIndex {
  readonly all: readonly Found[];
  get(identity: string): Found | undefined;
  containerOf(found: Found): Found | undefined;
  /** The holder of that slot; one that is being deleted only if there is no other. */
  holderOf(slot: string): Found | undefined;
  ofKind(kind: string): readonly Found[];
  /** Resources that can belong to that Service: its own, shared ones, and those without marks. */
  near(service: string): readonly Found[];
}

/** An index that follows the inventory and the documents. A change costs one update, not a rebuild. */
export interface LiveIndex extends FoundIndex {
  /**
   * Replaces what is found with that identity; `undefined` removes it. After a container, its parts have to be set
   * again, because a part without marks has the owner of its container.
   */
  set(identity: string, found: Found | undefined): void;
}

export function createFoundIndex(kinds: ReadonlyMap<string, Kind>): LiveIndex {
  const all = createGroups<'all'>();
  const byKind = createGroups<string>();
  const byService = createGroups<string | undefined>();
  const bySlot = createGroups<string>();
  const services = new Map<string, string | undefined>();
  const get = (identity: string) => all.member('all', identity);

  function containerOf({ kind, within }: Found): Found | undefined {
    const container = kinds.get(kind)?.within;
    if (container === undefined || within === undefined) return undefined;
    return get(identityOf({ kind: container, id: within }));
  }
  /** A part without marks belongs to its container. */
  function serviceOf(one: Found): string | undefined {
    const container = one.owner === undefined ? containerOf(one) : undefined;
    return container === undefined ? one.owner?.service : serviceOf(container);
  }

  return {
    get all() {
      return all.of('all');
    },
    get,
    containerOf,
    holderOf(slot) {
      const holders = bySlot.of(slot);
      return holders.find(({ status }) => status !== 'deleting') ?? holders[0];
    },
    ofKind: (kind) => byKind.of(kind),
    near: (service) => [service, everyService, undefined].flatMap((one) => byService.of(one)),
    set(identity, found) {
      const before = get(identity);
      const lastService = services.get(identity);
      const service = found === undefined ? undefined : serviceOf(found);
      if (before !== undefined) {
        for (const slot of before.slots ?? []) if (!found?.slots?.includes(slot)) bySlot.set(slot, identity, undefined);
        if (found === undefined || service !== lastService) byService.set(lastService, identity, undefined);
      }
      const kind = found?.kind ?? before?.kind;
      if (kind !== undefined) byKind.set(kind, identity, found);
      all.set('all', identity, found);
      if (found === undefined) services.delete(identity);
      else {
        services.set(identity, service);
        byService.set(service, identity, found);
      }
      for (const slot of found?.slots ?? []) bySlot.set(slot, identity, found);
    },
  };
}

/** Found resources by key, each with an array that lasts until something of that key changes. */
function createGroups<K>() {
  const groups = new Map<K, { readonly members: Map<string, Found>; list: readonly Found[] | undefined }>();
  const none: readonly Found[] = [];
  return {
    member: (key: K, identity: string) => groups.get(key)?.members.get(identity),
    of(key: K): readonly Found[] {
      const group = groups.get(key);
      if (group === undefined) return none;
      group.list ??= [...group.members.values()];
      return group.list;
    },
    set(key: K, identity: string, found: Found | undefined): void {
      const group = groups.get(key) ?? { members: new Map<string, Found>(), list: undefined };
      if (found === undefined) group.members.delete(identity);
      else group.members.set(identity, found);
      group.list = undefined;
      if (group.members.size === 0) groups.delete(key);
      else groups.set(key, group);
    },
  };
}
