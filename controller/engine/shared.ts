import { everyService, type Found, type Kind, nameOf, type Owner, type ResourceName, type Want } from './resource.ts';

export interface SharedParts {
  readonly kinds: ReadonlyMap<string, Kind>;
  /** Every live Service was declared, and understood, in this process. */
  everyoneDeclared(): boolean;
}

/** The desired specs of shared resources, of all Services together. */
export interface Shared {
  /** Everything that an owner desires now; nothing = its removal. */
  declare(owner: Owner, wants: readonly Want[]): void;
  /** The union of what all Services desire; nothing of `standing` is left out until every Service is known. */
  specOf(want: Want, standing: Found | undefined): unknown;
  isWanted(name: ResourceName): boolean;
  /** @param going the owner that is being removed */
  mayDrop(found: Found, going?: Owner): 'yes' | 'no' | 'later';
  /** Another controller keeps nothing for that Service any more. Returns whether that changes anything. */
  settled(owner: Owner): boolean;
}

export function createShared({ kinds, everyoneDeclared }: SharedParts): Shared {
  const specs = new Map<ResourceName, Map<string, unknown>>();
  const settled = new Set<string>();
  const isEverHeld = [...kinds.values()].some(({ heldBy }) => heldBy !== undefined);

  const isWanted = (name: ResourceName) => (specs.get(name)?.size ?? 0) > 0;
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
    specOf(want, standing) {
      const { merge } = kinds.get(want.kind) ?? {};
      if (merge === undefined) return want.spec;
      const all = [...(specs.get(nameOf(want))?.values() ?? [want.spec])];
      const mustStay = standing !== undefined && (!everyoneDeclared() || isHeld(standing));
      return merge(all, mustStay ? standing : undefined);
    },
    isWanted,
    mayDrop(found, going) {
      if (found.owner !== undefined && found.owner.service !== everyService) return 'yes';
      if (isWanted(nameOf(found)) || isHeld(found)) return 'no';
      const { usedBy } = kinds.get(found.kind) ?? {};
      if (usedBy === undefined) return everyoneDeclared() ? 'yes' : 'later';
      const users = usedBy(found);
      if (users === undefined) return going !== undefined || everyoneDeclared() ? 'yes' : 'no';
      return users.every((user) => user === going?.service) ? 'yes' : 'no';
    },
    settled({ service }) {
      if (!isEverHeld || settled.has(service)) return false;
      settled.add(service);
      return true;
    },
  };
}
