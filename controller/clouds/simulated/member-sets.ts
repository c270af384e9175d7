import { createHash } from 'node:crypto';
import type { DesiredMember, ObservedMember } from '../load-balancers.ts';

export interface SortedMembers {
  readonly members: readonly DesiredMember[];
  readonly strangers: readonly DesiredMember[];
}

export interface WireMember {
  readonly instanceId: string;
  readonly weight: 0 | 1;
}

/**
 * Sets of members by their digest. Hundreds of Services share one set of thousands of nodes: each is hashed once, listed by its digest and
 * held once.
 */
export interface MemberSets {
  /** Those that this scope could hold, and the others. The list itself where it holds them all. */
  sorted(members: readonly DesiredMember[]): SortedMembers;
  /** As requests carry them. */
  wire(members: readonly DesiredMember[]): readonly WireMember[];
  /** In words. @param before undefined = not known */
  difference(before: readonly ObservedMember[] | undefined, after: readonly DesiredMember[]): string;
  /** As the API computes it: SHA-256 of a line `<instance id> <weight>\n` for each member in the order of ids. */
  digest(members: readonly DesiredMember[]): string;
  /** The one list of this set, with nothing that health checks say. */
  known(digest: string): readonly ObservedMember[] | undefined;
  /** @returns the list to hold: the one that is known with the same health, or this one from now on */
  learn(digest: string, members: readonly ObservedMember[]): readonly ObservedMember[];
  /** Learns what is about to be set. */
  announce(members: readonly DesiredMember[]): void;
  /** Forgets all others. */
  keep(digests: ReadonlySet<string>): void;
}

/** @param idOf instance id of a providerID of this scope */
export function memberSets(idOf: (providerID: string) => string | undefined): MemberSets {
  const digests = new WeakMap<readonly DesiredMember[], string>();
  const sortings = new WeakMap<readonly DesiredMember[], SortedMembers>();
  const wires = new WeakMap<readonly DesiredMember[], readonly WireMember[]>();
  const differences = new WeakMap<readonly ObservedMember[], WeakMap<readonly DesiredMember[], string>>();
  const sets = new Map<string, readonly ObservedMember[]>();

  function digest(members: readonly DesiredMember[]): string {
    return remembered(digests, members, () => {
      const lines = wire(members).map(({ instanceId, weight }) => `${instanceId} ${weight}\n`);
      return createHash('sha256').update(lines.sort().join('')).digest('hex');
    });
  }

  function wire(members: readonly DesiredMember[]): readonly WireMember[] {
    return remembered(wires, members, () =>
      members.map(({ providerID, draining }) => ({
        instanceId: idOf(providerID) ?? providerID,
        weight: draining ? 0 : 1,
      })),
    );
  }

  function sorted(members: readonly DesiredMember[]): SortedMembers {
    return remembered(sortings, members, () => {
      const held = members.filter(({ providerID }) => idOf(providerID) !== undefined);
      if (held.length === members.length) return { members, strangers: [] };
      return { members: held, strangers: members.filter((member) => !held.includes(member)) };
    });
  }

  function learn(set: string, members: readonly ObservedMember[]): readonly ObservedMember[] {
    const told = members.some(({ healthy }) => healthy !== undefined);
    const key = told ? `${set} ${members.map(({ healthy }) => healthOf(healthy)).join('')}` : set;
    const found = sets.get(key) ?? members;
    sets.set(key, found);
    return found;
  }

  return {
    sorted,
    wire,
    difference(before, after) {
      if (!before) return `${after.length} from now on`;
      const known = remembered(differences, before, () => new WeakMap<readonly DesiredMember[], string>());
      return remembered(known, after, () => differenceOf(before, after));
    },
    digest,
    known: (key) => sets.get(key),
    learn,
    announce(members) {
      const key = digest(members);
      if (sets.has(key)) return;
      learn(
        key,
        members.map(({ providerID, draining }) => ({ providerID, draining, healthy: undefined })),
      );
    },
    keep(wanted) {
      for (const key of sets.keys()) if (!wanted.has(key.split(' ')[0]!)) sets.delete(key);
    },
  };
}

function differenceOf(before: readonly ObservedMember[], after: readonly DesiredMember[]): string {
  const old = new Map(before.map(({ providerID, draining }) => [providerID, draining]));
  const wanted = new Set(after.map(({ providerID }) => providerID));
  const added = after.filter(({ providerID }) => !old.has(providerID)).length;
  const removed = before.filter(({ providerID }) => !wanted.has(providerID)).length;
  const turned = after.filter(({ providerID, draining }) => (old.get(providerID) ?? draining) !== draining).length;
  const parts = [
    added > 0 && `${added} added`,
    removed > 0 && `${removed} removed`,
    turned > 0 && `${turned} of another weight`,
  ];
  return `${parts.filter(Boolean).join(', ') || 'set anew'}, ${after.length} in all`;
}

function remembered<K extends object, V>(memory: WeakMap<K, V>, key: K, make: () => V): V {
  const known = memory.get(key);
  if (known !== undefined) return known;
  const made = make();
  memory.set(key, made);
  return made;
}

function healthOf(healthy: boolean | undefined): string {
  if (healthy === undefined) return '?';
  return healthy ? '1' : '0';
}
