import type { NodeLabel } from '../../clouds/load-balancers.ts';
import type { MemberFacts } from './facts.ts';
import type { Membership, Present } from './membership.ts';

/** The memberships of Services that choose Nodes by labels, computed once for equal choices. */
export interface Selections {
  /** The membership itself where `chosen` is empty. */
  of(set: Membership, chosen: readonly NodeLabel[]): Membership;
}

export function createSelections(): Selections {
  const selections = new WeakMap<Membership, Map<string, Membership>>();
  return {
    of(set, chosen) {
      if (chosen.length === 0) return set;
      const key = JSON.stringify(
        chosen.map(({ key, value, values, not }) => [key, value ?? values ?? null, not === true]),
      );
      const ofSet = selections.get(set) ?? new Map<string, Membership>();
      selections.set(set, ofSet);
      const selected = ofSet.get(key) ?? select(set, chosen, key);
      ofSet.set(key, selected);
      return selected;
    },
  };
}

/** Members that are not chosen leave like marked ones: drained where they are members, added nowhere. */
function select(set: Membership, chosen: readonly NodeLabel[], key: string): Membership {
  const active = new Map<string, MemberFacts>();
  const present = new Map<string, Present>(set.present);
  const nodes = new Set<string>();
  for (const [instance, facts] of set.active) {
    if (isChosen(facts, chosen)) {
      active.set(instance, facts);
      nodes.add(facts.node);
    } else present.set(instance, { facts, kind: 'leaving', reason: undefined });
  }
  const members = set.members.filter(({ node }) => nodes.has(node));
  return { ...set, active, present, members, hash: `${set.hash} ${key}` };
}

function isChosen({ labels }: MemberFacts, chosen: readonly NodeLabel[]): boolean {
  return chosen.every(({ key, value, values = value === undefined ? undefined : [value], not = false }) => {
    const held = labels[key];
    return (held !== undefined && (values === undefined || values.includes(held))) !== not;
  });
}
