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
  /** Forgets all others. */
  keep(digests: ReadonlySet<string>): void;
}

/** @param idOf instance id of a providerID of this scope */
export function createMemberSets(idOf: (providerID: string) => string | undefined): MemberSets {
  const byMembers = new WeakMap<readonly DesiredMember[], MemberSet>();
  const lists = new Map<string, readonly ObservedMember[]>();

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
      if (known !== undefined && lists.has(known.digest)) return known;
      const wire = members.flatMap(({ providerID, draining }): WireMember[] => {
        const instanceId = idOf(providerID);
        return instanceId === undefined ? [] : [{ instanceId, weight: draining ? 0 : 1 }];
      });
      const lines = wire.map(({ instanceId, weight }) => `${instanceId} ${weight}\n`).sort();
      const made = { wire, digest: createHash('sha256').update(lines.join('')).digest('hex') };
      byMembers.set(members, made);
      const held = members.filter(({ providerID }) => idOf(providerID) !== undefined);
      learn(
        made.digest,
        held.map(({ providerID, draining }) => ({ providerID, draining, healthy: undefined })),
      );
      return made;
    },
    known: (digest) => lists.get(digest),
    learn,
    keep(digests) {
      for (const key of lists.keys()) if (!digests.has(key.split(' ')[0]!)) lists.delete(key);
    },
  };
}
