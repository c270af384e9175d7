import { createHash } from 'node:crypto';
import type { DesiredMember, ObservedMember } from '../load-balancers.ts';

export interface WireMember {
  readonly instanceId: string;
  readonly weight: 0 | 1;
}

/** A set of members as requests carry it. */
export interface MemberSet {
  readonly wire: readonly WireMember[];
  /** As the API computes it: SHA-256 of a line `<instance id> <weight>\n` for each member in the order of ids. */
  readonly digest: string;
  readonly members: readonly ObservedMember[];
}

/**
 * Sets of members by their digest. Hundreds of Services share one set of thousands of nodes: each is hashed once,
 * listed by its digest and held once.
 */
export interface MemberSets {
  /** @param members of this scope alone */
  of(members: readonly DesiredMember[]): MemberSet;
  /** The one list of this set, with nothing that health checks say. */
  known(digest: string): readonly ObservedMember[] | undefined;
  /** @returns the list to hold: the one that is known with the same health, or this one from now on */
  learn(digest: string, members: readonly ObservedMember[]): readonly ObservedMember[];
  /** Forgets all others but those that were asked for since the last call: their changes may be under way. */
  keep(digests: ReadonlySet<string>): void;
}

/** @param idOf instance id of a providerID of this scope */
export function createMemberSets(idOf: (providerID: string) => string | undefined): MemberSets {
  const byMembers = new WeakMap<readonly DesiredMember[], MemberSet>();
  const lists = new Map<string, readonly ObservedMember[]>();
  /** Digests that were asked for since `keep`. */
  const asked = new Set<string>();

  function learn(digest: string, members: readonly ObservedMember[]): readonly ObservedMember[] {
    const isTold = members.some(({ healthy }) => healthy !== undefined);
    const key = isTold ? `${digest} ${members.map(({ healthy }) => Number(healthy ?? 2)).join('')}` : digest;
    const known = lists.get(key) ?? members;
    lists.set(key, known);
    return known;
  }

  return {
    of(members) {
      const known = byMembers.get(members);
      if (known !== undefined && lists.has(known.digest)) {
        asked.add(known.digest);
        return known;
      }
      const wire = members.flatMap(({ providerID, draining }): WireMember[] => {
        const instanceId = idOf(providerID);
        return instanceId === undefined ? [] : [{ instanceId, weight: draining ? 0 : 1 }];
      });
      const lines = wire.map(({ instanceId, weight }) => `${instanceId} ${weight}\n`).sort();
      const digest = createHash('sha256').update(lines.join('')).digest('hex');
      const held = members.filter(({ providerID }) => idOf(providerID) !== undefined);
      const list = held.map(({ providerID, draining }) => ({ providerID, draining, healthy: undefined }));
      const made = { wire, digest, members: learn(digest, list) };
      byMembers.set(members, made);
      asked.add(digest);
      return made;
    },
    known: (digest) => lists.get(digest),
    learn,
    keep(digests) {
      for (const key of lists.keys()) {
        const [digest = ''] = key.split(' ');
        if (!digests.has(digest) && !asked.has(digest)) lists.delete(key);
      }
      asked.clear();
    },
  };
}

/** In words. @param before undefined = not known */
export function differenceOf(before: readonly ObservedMember[] | undefined, { members }: MemberSet): string {
  if (before === undefined) return `${members.length} from now on`;
  const old = new Map(before.map(({ providerID, draining }) => [providerID, draining]));
  const desired = new Set(members.map(({ providerID }) => providerID));
  const added = members.filter(({ providerID }) => !old.has(providerID)).length;
  const removed = before.filter(({ providerID }) => !desired.has(providerID)).length;
  const turned = members.filter(({ providerID, draining }) => (old.get(providerID) ?? draining) !== draining).length;
  const parts = [
    ...(added > 0 ? [`${added} added`] : []),
    ...(removed > 0 ? [`${removed} removed`] : []),
    ...(turned > 0 ? [`${turned} of another weight`] : []),
  ];
  return `${parts.join(', ') || 'set again'}, ${members.length} in all`;
}
