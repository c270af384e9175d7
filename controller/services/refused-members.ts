import type { DesiredMember } from '../clouds/load-balancers.ts';

/** Members that the cloud would not take, each for one Service: another load balancer may take them. */
export interface RefusedMembers {
  /**
   * Answers whether one of `members` was refused anew.
   *
   * @param why for people, free of credentials
   */
  note(uid: string, subjects: readonly string[], members: readonly DesiredMember[], why: string): boolean;
  /** Parts what may be sent from what is held back for now. */
  split(
    uid: string,
    members: readonly DesiredMember[],
  ): {
    readonly members: readonly DesiredMember[];
    readonly refused: readonly RefusedMember[];
    readonly againInMs: number | undefined;
  };
  /** providerIDs, as of the last `note` or `split`; undefined when there is none. */
  of(uid: string): ReadonlySet<string> | undefined;
  forget(uid: string): void;
}

export interface RefusedMember {
  /** Name of the Node. */
  readonly node: string;
  /** In the words of the cloud, or of its driver. */
  readonly why: string;
}

/** For so long a refused member is left out. */
export const refusedForMs = 300_000;

export function createRefusedMembers(monotonic: () => number): RefusedMembers {
  /** By Service, then by providerID. */
  const held = new Map<string, Map<string, { readonly untilMs: number; readonly why: string }>>();
  return {
    note(uid, subjects, members, why) {
      const named = members.filter(
        ({ providerID, node, addresses }) =>
          subjects.includes(providerID) || subjects.includes(node) || addresses.some((each) => subjects.includes(each)),
      );
      if (named.length === 0) return false;
      const those = held.get(uid) ?? new Map();
      held.set(uid, those);
      for (const { providerID } of named) those.set(providerID, { untilMs: monotonic() + refusedForMs, why });
      return true;
    },
    split(uid, members) {
      const those = held.get(uid);
      if (those === undefined) return { members, refused: [], againInMs: undefined };
      const now = monotonic();
      for (const [providerID, { untilMs }] of those) if (untilMs <= now) those.delete(providerID);
      if (those.size === 0) held.delete(uid);
      const out = members.flatMap(({ node, providerID }) => {
        const one = those.get(providerID);
        return one === undefined ? [] : [{ node, ...one }];
      });
      if (out.length === 0) return { members, refused: [], againInMs: undefined };
      return {
        members: members.filter(({ providerID }) => !those.has(providerID)),
        refused: out.map(({ node, why }) => ({ node, why })),
        againInMs: Math.min(...out.map(({ untilMs }) => untilMs)) - now,
      };
    },
    of(uid) {
      const those = held.get(uid);
      return those && new Set(those.keys());
    },
    forget: (uid) => held.delete(uid),
  };
}
