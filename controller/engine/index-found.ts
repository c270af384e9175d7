import { everyService, type Found, identityOf, type Kind } from './resource.ts';

/** Everything found, indexed. Built once for each state of the inventory. */
export interface FoundIndex {
  readonly all: readonly Found[];
  get(identity: string): Found | undefined;
  containerOf(found: Found): Found | undefined;
  /** The holder of that slot; one that is being deleted only if there is no other. */
  holderOf(slot: string): Found | undefined;
  ofKind(kind: string): readonly Found[];
  /** What can belong to that Service: its own, what all Services share, and what carries no marks. */
  near(service: string): readonly Found[];
}

/** Pure. */
export function indexFound(kinds: ReadonlyMap<string, Kind>, all: readonly Found[]): FoundIndex {
  const byIdentity = new Map(all.map((one) => [identityOf(one), one]));
  const slots = new Map<string, Found>();
  const byKind = new Map<string, Found[]>();
  const byService = new Map<string | undefined, Found[]>();

  function containerOf({ kind, within }: Found): Found | undefined {
    const container = kinds.get(kind)?.within;
    if (container === undefined || within === undefined) return undefined;
    return byIdentity.get(identityOf({ kind: container, id: within }));
  }
  /** A part without marks belongs to its container. */
  function serviceOf(one: Found): string | undefined {
    const container = one.owner === undefined ? containerOf(one) : undefined;
    return container === undefined ? one.owner?.service : serviceOf(container);
  }
  function add<K>(map: Map<K, Found[]>, key: K, one: Found): void {
    const list = map.get(key);
    if (list === undefined) map.set(key, [one]);
    else list.push(one);
  }
  for (const one of all) {
    add(byKind, one.kind, one);
    add(byService, serviceOf(one), one);
    for (const slot of one.slots ?? []) {
      const holder = slots.get(slot);
      if (holder === undefined || holder.status === 'deleting') slots.set(slot, one);
    }
  }
  return {
    all,
    get: (identity) => byIdentity.get(identity),
    containerOf,
    holderOf: (slot) => slots.get(slot),
    ofKind: (kind) => byKind.get(kind) ?? [],
    near: (service) => [service, everyService, undefined].flatMap((one) => byService.get(one) ?? []),
  };
}
