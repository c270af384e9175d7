import type { Member } from './load-balancer.ts';
import { memberSets } from './member-sets.ts';
import { Refused } from './refused.ts';

/** Which instances may be members, and how many. */
export interface MemberRules {
  /**
   * The list to keep. Throws 400 `invalid-member` with `ids`, or `too-many-members`. @param members sorted by instance
   * id
   */
  admit(place: string, members: readonly Member[]): readonly Member[];
  digest(members: readonly Member[]): string;
  /** From now on the instance is refused as a member, or no more. */
  refuse(instanceId: string, refused: boolean): void;
  /** Of one pool; undefined = any number. */
  setMax(count: number | undefined): void;
}

/** @param serves whether the place has such an instance that is not at its end */
export function memberRules(serves: (place: string, instanceId: string) => boolean): MemberRules {
  const sets = memberSets();
  const refusedIds = new Set<string>();
  let max: number | undefined;
  return {
    digest: sets.digest,
    admit(place, members) {
      if (max !== undefined && members.length > max) {
        throw new Refused(400, 'too-many-members', `${members.length} members, at most ${max}`, { max });
      }
      const ids = members.map(({ instanceId }) => instanceId).filter((id) => refusedIds.has(id) || !serves(place, id));
      if (ids.length > 0) throw new Refused(400, 'invalid-member', `cannot be members: ${ids.join(', ')}`, { ids });
      return sets.shared(members);
    },
    refuse(instanceId, refused) {
      if (refused) refusedIds.add(instanceId);
      else refusedIds.delete(instanceId);
    },
    setMax(count) {
      max = count;
    },
  };
}

/** What health checks say. Set by a data plane or a person. */
export interface MemberHealth {
  /** Undefined = not known any more. */
  set(poolId: string, instanceId: string, healthy: boolean | undefined): void;
  get(poolId: string, instanceId: string): boolean | undefined;
}

export function memberHealth(): MemberHealth {
  const known = new Map<string, boolean>();
  return {
    set(poolId, instanceId, healthy) {
      const key = `${poolId} ${instanceId}`;
      if (healthy === undefined) known.delete(key);
      else known.set(key, healthy);
    },
    get: (poolId, instanceId) => known.get(`${poolId} ${instanceId}`),
  };
}
