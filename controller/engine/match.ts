import type { JournalState } from './journal.ts';
import { type Ownership, type OwnershipInput, ownershipOf } from './owner.ts';
import { type Found, identityOf, nameOf, type ResourceName } from './resource.ts';

export interface MatchInput extends OwnershipInput {
  /** The key of a resource that the classic controller created for this owner. */
  readonly adopts?: ((found: Found) => string | undefined) | undefined;
}

/** Which found resources belong to one owner, and under which names. */
export interface Match extends Ownership {
  /** Our resources of that name, best first; several where the answer to a create was lost. */
  candidates(name: ResourceName): readonly Found[];
  /** Our resources that have a key. */
  readonly ours: readonly Found[];
  /** Our resources without our marks: adopted, or the marks were stripped by hand. */
  readonly unmarked: ReadonlySet<Found>;
  /** Recorded resources without marks and without proof that they are ours. */
  readonly unproven: readonly Found[];
  /** The found resources that can belong to this owner. */
  readonly near: readonly Found[];
  /** Everything found. */
  readonly all: readonly Found[];
  /** The names under which the journal records it. */
  recordedNames(found: Found): readonly ResourceName[];
  /** The holder of that slot. */
  holderOf(slot: string): Found | undefined;
  /** Our resources that refer to that one; loose references count only where they prove ownership. */
  referrers(target: Found): readonly Found[];
}

/** Pure. */
export function matchFound(input: MatchInput): Match {
  const { kinds, found, journal } = input;
  const ownership = ownershipOf(input);
  const unmarked = new Set<Found>();
  const byName = new Map<ResourceName, Found[]>();
  const near = found.near(input.owner.service);

  /** The key of a resource of ours; undefined for others. */
  function keyOf(one: Found): string | undefined {
    const stripped = ownership.isStripped(one);
    if (stripped) unmarked.add(one);
    if (ownership.isOurs(one) && one.owner === undefined && kinds.get(one.kind)?.mark !== undefined) unmarked.add(one);
    if (ownership.isOurs(one)) return stripped ? (one.key ?? recordedKey(one, journal)) : one.key;
    if (one.owner !== undefined || one.retained || ownership.containerOf(one) !== undefined) return undefined;
    const key = input.adopts?.(one);
    if (key !== undefined) unmarked.add(one);
    return key;
  }
  function add(one: Found, key: string): void {
    const name = nameOf({ kind: one.kind, key });
    const same = byName.get(name);
    if (same === undefined) byName.set(name, [one]);
    else if (!same.includes(one)) same.push(one);
  }
  for (const one of near) {
    const key = keyOf(one);
    if (key !== undefined) add(one, key);
  }
  /** Whether it is unmarked, and a part of what is adopted, or a part of such a part. */
  function isInAdopted(one: Found): boolean {
    const container = ownership.containerOf(one);
    if (container === undefined || one.owner !== undefined) return false;
    return unmarked.has(container) || (container.key !== undefined && isInAdopted(container));
  }
  // The parts of an adopted container are ours, too.
  for (const one of near) {
    if (one.key === undefined || !isInAdopted(one)) continue;
    if (kinds.get(one.kind)?.mark !== undefined) unmarked.add(one);
    add(one, one.key);
  }

  for (const [name, same] of byName)
    same.sort((a, b) => rankOf(name, a, journal) - rankOf(name, b, journal) || byId(a, b));
  const isOurs = (one: Found) => ownership.isOurs(one) || isAdopted(one);
  const isAdopted = (one: Found): boolean => unmarked.has(one) || isInAdopted(one);

  const referrers = new Map<string, Found[]>();
  for (const one of near) {
    if (!isOurs(one)) continue;
    for (const ref of one.refs ?? []) {
      if (ref.loose && !ref.proof) continue;
      const list = referrers.get(identityOf(ref));
      if (list === undefined) referrers.set(identityOf(ref), [one]);
      else list.push(one);
    }
  }
  return {
    ...ownership,
    isOurs,
    candidates: (name) => byName.get(name) ?? [],
    ours: [...byName.values()].flat(),
    unmarked,
    unproven: near.filter((one) => ownership.isUnproven(one) && !unmarked.has(one) && kinds.has(one.kind)),
    all: found.all,
    near,
    recordedNames: ({ kind, id }) =>
      Object.keys(journal.ids).filter((name) => journal.ids[name] === id && name.startsWith(`${kind}/`)),
    holderOf: found.holderOf,
    referrers: (target) => referrers.get(identityOf(target)) ?? [],
  };
}

function recordedKey({ kind, id }: Found, { ids }: JournalState): string | undefined {
  const name = Object.keys(ids).find((one) => ids[one] === id && one.startsWith(`${kind}/`));
  return name?.slice(kind.length + 1);
}

/** The recorded one is best; one that is being deleted or has failed is worst. */
function rankOf(name: ResourceName, one: Found, { ids }: JournalState): number {
  const worst = one.status === 'deleting' ? 8 : one.status === 'failed' ? 4 : 0;
  return worst + (ids[name] === one.id ? 0 : 2) + (one.address === undefined ? 1 : 0);
}

function byId(a: Found, b: Found): number {
  return a.id.localeCompare(b.id, 'en', { numeric: true });
}
