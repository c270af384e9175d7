import { everyService, type Found, type Kind, nameOf, type Owner, type ResourceName, type Want } from './resource.ts';

export interface SharedParts {
  readonly kinds: ReadonlyMap<string, Kind>;
  /** Whether every live Service was declared, with a readable spec, in this process. */
  allServicesDeclared(): boolean;
}

/** The desired specs of shared resources, of all Services together. */
export interface Shared {
  /** Everything that an owner desires now; nothing = its removal. */
  declare(owner: Owner, wants: readonly Want[]): void;
  /** The union of what all Services desire; no part of `existing` is left out until every Service is declared. */
  specOf(want: Want, existing: Found | undefined): unknown;
  isDesired(name: ResourceName): boolean;
  /** @param removed the owner that is being removed */
  mayDrop(found: Found, removed?: Owner): 'yes' | 'no' | 'later';
  /** That Service no longer needs what another controller keeps for it. Returns whether it did before. */
  settled(owner: Owner): boolean;
}

export function createShared({ kinds, allServicesDeclared }: SharedParts): Shared {
  const specs = new Map<ResourceName, Map<string, unknown>>();
  const settled = new Set<string>();
  const isEverHeld = [...kinds.values()].some(({ heldBy }) => heldBy !== undefined);

  const isDesired = (name: ResourceName) => (specs.get(name)?.size ?? 0) > 0;
  function isHeld(found: Found): boolean {
    const service = kinds.get(found.kind)?.heldBy?.(found);
    return service !== undefined && !settled.has(service);
  }

  return {
    declare({ service }, wants) {
      const own = wants.filter(({ kind }) => kinds.get(kind)?.merge !== undefined);
      const names = new Set(own.map(nameOf));
      for (const [name, of] of specs) {
        if (!names.has(name) && of.delete(service) && of.size === 0) specs.delete(name);
      }
      for (const want of own) {
        const of = specs.get(nameOf(want)) ?? new Map<string, unknown>();
        specs.set(nameOf(want), of.set(service, want.spec));
      }
    },
    specOf(want, existing) {
      const { merge } = kinds.get(want.kind) ?? {};
      if (merge === undefined) return want.spec;
      const all = [...(specs.get(nameOf(want))?.values() ?? [want.spec])];
      const mustStay = existing !== undefined && (!allServicesDeclared() || isHeld(existing));
      return merge(all, mustStay ? existing : undefined);
    },
    isDesired,
    mayDrop(found, removed) {
      if (found.owner !== undefined && found.owner.service !== everyService) return 'yes';
      if (isDesired(nameOf(found)) || isHeld(found)) return 'no';
      const { usedBy } = kinds.get(found.kind) ?? {};
      if (usedBy === undefined) return allServicesDeclared() ? 'yes' : 'later';
      const users = usedBy(found);
      if (users === undefined) return removed !== undefined || allServicesDeclared() ? 'yes' : 'no';
      return users.every((user) => user === removed?.service) ? 'yes' : 'no';
    },
    settled({ service }) {
      if (!isEverHeld || settled.has(service)) return false;
      settled.add(service);
      return true;
    },
  };
}
