import type { DesiredMember, ObservedMember } from '../../clouds/load-balancers.ts';
import { instanceIn, type Membership } from './membership.ts';
import { type Slots, slotsOf } from './subset.ts';

/** Which members already take connections at a load balancer. */
export interface Serving {
  /** The number of active members that take connections here. */
  readonly added: number;
  /** One of those is healthy. */
  readonly healthy: boolean;
  /** The cloud reports health. */
  readonly isHealthKnown: boolean;
}

/** Work that is the same for many Services: hundreds of them have equal sets of thousands of members. */
export interface SharedWork {
  /** Members of a load balancer that are not active. */
  nonMembers(set: Membership, observed: readonly ObservedMember[]): readonly ObservedMember[];
  serving(set: Membership, observed: readonly ObservedMember[]): Serving;
  slots(members: readonly DesiredMember[]): Slots<DesiredMember>;
  /** The two lists as one. */
  join(chosen: readonly DesiredMember[], extra: readonly DesiredMember[]): readonly DesiredMember[];
}

/** Computes each result again. Pure. */
export const plainWork: SharedWork = {
  nonMembers: (set, observed) => observed.filter(({ providerID }) => !set.active.has(instanceIn(set, providerID))),
  serving: (set, observed) => servingAmong(set, observed, set.active),
  slots: slotsOf,
  join: (chosen, extra) => [...chosen, ...extra],
};

/** @param among instances that count */
export function servingAmong(
  set: Membership,
  observed: readonly ObservedMember[],
  among: { has(instance: string): boolean },
): Serving {
  const added = new Set<string>();
  let isHealthKnown = false;
  let healthy = false;
  for (const member of observed) {
    isHealthKnown ||= member.healthy !== undefined;
    const instance = instanceIn(set, member.providerID);
    if (member.draining || !among.has(instance)) continue;
    added.add(instance);
    healthy ||= member.healthy === true;
  }
  return { added: added.size, healthy, isHealthKnown };
}

/**
 * Caches results for lists that are still in use. Clouds share one list between load balancers of equal members, and
 * hash each list that they are given once.
 */
export function sharedWork(): SharedWork {
  const nonMembers = new WeakMap<Membership['active'], WeakMap<readonly ObservedMember[], readonly ObservedMember[]>>();
  const serving = new WeakMap<Membership['active'], WeakMap<readonly ObservedMember[], Serving>>();
  const slots = new WeakMap<readonly DesiredMember[], Slots<DesiredMember>>();
  const lists = new WeakMap<readonly DesiredMember[], Map<string, readonly DesiredMember[]>>();
  return {
    nonMembers(set, observed) {
      const ofList = once(
        nonMembers,
        set.active,
        () => new WeakMap<readonly ObservedMember[], readonly ObservedMember[]>(),
      );
      return once(ofList, observed, () => plainWork.nonMembers(set, observed));
    },
    serving(set, observed) {
      const ofList = once(serving, set.active, () => new WeakMap<readonly ObservedMember[], Serving>());
      return once(ofList, observed, () => plainWork.serving(set, observed));
    },
    slots: (members) => once(slots, members, () => slotsOf(members)),
    join(chosen, extra) {
      const key = JSON.stringify(extra.map(({ node, providerID, draining }) => [node, providerID, draining]));
      const ofList = once(lists, chosen, () => new Map<string, readonly DesiredMember[]>());
      const list = ofList.get(key) ?? plainWork.join(chosen, extra);
      ofList.set(key, list);
      return list;
    },
  };
}

function once<K extends object, V>(memory: WeakMap<K, V>, key: K, make: () => V): V {
  const held = memory.get(key);
  if (held !== undefined) return held;
  const value = make();
  memory.set(key, value);
  return value;
}
