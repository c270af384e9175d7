import type { DesiredMember } from '../clouds/load-balancers.ts';

/** Members that the cloud would not take, each for one Service: another load balancer may take them. */
export interface RefusedMembers {
  /** Answers whether one of `members` was refused anew. */
  note(uid: string, subjects: readonly string[], members: readonly DesiredMember[]): boolean;
  /** Parts what may be sent from what is held back for now. */
  split(
    uid: string,
    members: readonly DesiredMember[],
  ): {
    readonly members: readonly DesiredMember[];
    readonly refused: readonly string[];
    readonly againInMs: number | undefined;
  };
  /** providerIDs, as of the last `note` or `split`; undefined when there is none. */
  of(uid: string): ReadonlySet<string> | undefined;
  forget(uid: string): void;
}

/** For so long a refused member is left out. */
export const refusedForMs = 300_000;

export function createRefusedMembers(monotonic: () => number): RefusedMembers {
  /** By Service, then by providerID: until when. */
  const held = new Map<string, Map<string, number>>();
  return {
    note(uid, subjects, members) {
      const named = members.filter(
        ({ providerID, node, addresses }) =>
          subjects.includes(providerID) || subjects.includes(node) || addresses.some((each) => subjects.includes(each)),
      );
      if (named.length === 0) return false;
      const until = held.get(uid) ?? new Map<string, number>();
      held.set(uid, until);
      for (const { providerID } of named) until.set(providerID, monotonic() + refusedForMs);
      return true;
    },
    split(uid, members) {
      const until = held.get(uid);
      if (until === undefined) return { members, refused: [], againInMs: undefined };
      const now = monotonic();
      for (const [providerID, at] of until) if (at <= now) until.delete(providerID);
      if (until.size === 0) held.delete(uid);
      const out = members.filter(({ providerID }) => until.has(providerID));
      if (out.length === 0) return { members, refused: [], againInMs: undefined };
      return {
        members: members.filter(({ providerID }) => !until.has(providerID)),
        refused: out.map(({ node }) => node),
        againInMs: Math.min(...out.map(({ providerID }) => until.get(providerID) ?? now)) - now,
      };
    },
    of(uid) {
      const until = held.get(uid);
      return until && new Set(until.keys());
    },
    forget: (uid) => held.delete(uid),
  };
}
