import type { FoundIndex } from './found-index.ts';
import type { JournalState } from './journal.ts';
import {
  everyService,
  type Found,
  identityOf,
  isOwnedBy,
  type Kind,
  kindOf,
  nameOf,
  type Owner,
  type ResourceName,
} from './resource.ts';

export interface OwnershipInput {
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly owner: Owner;
  readonly found: FoundIndex;
  readonly journal: JournalState;
}

export type Ownership = ReturnType<typeof ownershipOf>;

/** Proves ownership by marks, by marks of the container, or by the journal and the marks of related resources. Pure. */
export function ownershipOf({ kinds, owner, found, journal }: OwnershipInput) {
  const { containerOf } = found;
  const recorded = new Set(
    Object.entries(journal.ids).flatMap(([name, id]) =>
      isUseName(name) ? [] : identityOf({ kind: kindOf(name), id }),
    ),
  );
  const marked = (one: Found): boolean =>
    one.owner !== undefined &&
    one.owner.cluster === owner.cluster &&
    (one.owner.service === owner.service || one.owner.service === everyService);

  /** Identities of the targets and containers of marked resources of this owner. */
  const nearMarked = new Set<string>();
  for (const one of found.near(owner.service)) {
    if (!isOwnedBy(one, owner)) continue;
    for (const ref of one.refs ?? []) nearMarked.add(identityOf(ref));
    const container = containerOf(one);
    if (container !== undefined) nearMarked.add(identityOf(container));
  }
  const refersToMarked = (one: Found): boolean =>
    (one.refs ?? []).some((ref) => {
      const target = found.get(identityOf(ref));
      return target !== undefined && isOwnedBy(target, owner);
    });

  function isUnmarkedRecord(one: Found): boolean {
    return one.owner === undefined && one.retained !== true && recorded.has(identityOf(one));
  }

  /** Recorded without marks, and a marked resource refers to it or is in it: its marks were stripped. */
  function isStripped(one: Found): boolean {
    // Otherwise a user who can write the record could claim a resource of others that has a consent mark.
    if (!isUnmarkedRecord(one) || one.consentForAnyCluster === true || containerOf(one) !== undefined) return false;
    return nearMarked.has(identityOf(one)) || refersToMarked(one);
  }

  /** Provably owned by this owner, or shared by all Services of its cluster. */
  function isOurs(one: Found): boolean {
    const container = containerOf(one);
    // A container is released after its parts: while it is ours, their retention has not come to its end.
    if (one.retained === true) return one.key !== undefined && container !== undefined && isOwnedBy(container, owner);
    if (one.owner !== undefined) return marked(one);
    if (container === undefined) return isStripped(one);
    // A part that can be marked is ours only by its mark, unless the marks of its container were stripped, too.
    if (kinds.get(one.kind)?.mark !== undefined) return isStripped(container);
    if (isOurs(container)) return true;
    if (recorded.has(identityOf(one))) return true;
    // Its slot was free when its create was sent, and the answer was lost.
    return journal.ids[useName(container)] !== undefined && journal.tried.includes(nameOf(one));
  }

  return {
    isOurs,
    isStripped,
    /** Recorded without marks and without proof of ownership. */
    isUnproven: (one: Found) => isUnmarkedRecord(one) && containerOf(one) === undefined && !isStripped(one),
    containerOf,
  };
}

/** The name under which the journal records a container of others with parts of ours. */
export function useName(container: { readonly kind: string; readonly id: string }): string {
  return `${container.kind}/use:${container.id}`;
}

export function isUseName(name: ResourceName): boolean {
  return name.includes('/use:');
}
