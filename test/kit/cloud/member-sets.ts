import { createHash } from 'node:crypto';
import type { Member } from './load-balancer.ts';

/** Lists of members, each stored once: one list serves hundreds of pools over the same thousands of instances. */
export interface MemberSets {
  /** @param members sorted by instance id */
  shared(members: readonly Member[]): readonly Member[];
  /** SHA-256, hexadecimal, of a line `<instance id> <weight>\n` for each member in the order of ids. */
  digest(members: readonly Member[]): string;
}

const kept = 200;

export function memberSets(): MemberSets {
  const digests = new WeakMap<readonly Member[], string>();
  const sets = new Map<string, readonly Member[]>();

  function digest(members: readonly Member[]): string {
    const known = digests.get(members);
    if (known !== undefined) return known;
    const hash = createHash('sha256');
    hash.update(members.map(({ instanceId, weight }) => `${instanceId} ${weight}\n`).join(''));
    const made = hash.digest('hex');
    digests.set(members, made);
    return made;
  }

  return {
    digest,
    shared(members) {
      const key = digest(members);
      const found = sets.get(key) ?? members;
      sets.delete(key);
      sets.set(key, found);
      if (sets.size > kept) sets.delete(sets.keys().next().value!);
      return found;
    },
  };
}
