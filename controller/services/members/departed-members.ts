import type { ObservedMember } from '../../clouds/load-balancers.ts';
import { type Departed, instanceIn, type Membership, withDeparted } from './membership.ts';

export type Memberships = ReadonlyMap<string, Membership>;

/** A member without a Node, and the membership that it is in. */
export interface DepartedMember {
  readonly set: Membership;
  readonly instance: string;
  readonly departed: Departed;
}

/** A departed member that no load balancer has held for this long is dropped. */
const forgetMs = 3 * 3_600_000;
/** The precision of `Departed.seenMs`. */
const seenGrainMs = 60_000;

/** Whether a load balancer holds it although its Node vanished unexplained. Pure. */
export function isWithheld({ phase, seenMs }: Departed): boolean {
  return phase === 'unexplained' && seenMs !== undefined;
}

export function withheldIn(sets: Memberships): readonly DepartedMember[] {
  return [...sets.values()].flatMap((set) =>
    [...set.departed].flatMap(([instance, departed]) => (isWithheld(departed) ? [{ set, instance, departed }] : [])),
  );
}

/** Without those that no load balancer holds any more. Pure. */
export function withoutExpired(sets: Memberships, nowMs: number): Memberships {
  const next = new Map(sets);
  for (const set of sets.values()) {
    const kept = [...set.departed].filter(([, { sinceMs, seenMs }]) => nowMs - (seenMs ?? sinceMs) < forgetMs);
    if (kept.length < set.departed.size) next.set(set.scope, withDeparted(set, new Map(kept)));
  }
  return next;
}

/**
 * With those members of a load balancer that no Node accounts for; the same membership where there is no change. Pure.
 *
 * @param nonMembers members of the load balancer that are not active
 */
export function withHeld(set: Membership, nonMembers: readonly ObservedMember[], nowMs: number): Membership {
  let next: Map<string, Departed> | undefined;
  for (const { providerID, draining } of nonMembers) {
    const instance = instanceIn(set, providerID);
    const before = (next ?? set.departed).get(instance);
    if (before === undefined && set.present.has(instance)) continue;
    if (before?.seenMs !== undefined && nowMs - before.seenMs < seenGrainMs) continue;
    next ??= new Map(set.departed);
    // Only we let members drain, so its removal was granted before.
    const phase = draining ? 'drains' : 'unexplained';
    next.set(instance, { ...(before ?? { providerID, facts: undefined, phase, sinceMs: nowMs }), seenMs: nowMs });
  }
  return next === undefined ? set : { ...set, departed: next };
}

/**
 * Restarts the wait of departed members whose Nodes exist. Pure.
 *
 * @param present by scope: instances of the Nodes that the API server has now
 */
export function withRestartedWaits(
  sets: Memberships,
  present: ReadonlyMap<string, ReadonlySet<string>>,
  nowMs: number,
): Memberships {
  return new Map(
    [...sets].map(([scope, set]) => {
      const departed = new Map(set.departed);
      for (const [instance, one] of set.departed)
        if (isWithheld(one) && present.get(scope)?.has(instance)) departed.set(instance, { ...one, sinceMs: nowMs });
      return [scope, { ...set, departed }];
    }),
  );
}

/**
 * Releases `granted` of the members that have waited long enough, the longest waiting first, and marks the others as
 * refused. Undefined where nothing changes. Pure.
 */
export function withGranted(
  sets: Memberships,
  granted: number,
  { nowMs, confirmMs }: { readonly nowMs: number; readonly confirmMs: number },
): { readonly sets: Memberships; readonly released: readonly Departed[] } | undefined {
  const waiting = withheldIn(sets)
    .filter(({ departed }) => nowMs - departed.sinceMs >= confirmMs)
    .sort((a, b) => a.departed.sinceMs - b.departed.sinceMs || (a.instance < b.instance ? -1 : 1));
  if (!waiting.some(({ departed }, index) => index < granted || departed.refused !== true)) return undefined;
  const changed = new Map<string, Map<string, Departed>>();
  for (const [index, { set, instance, departed }] of waiting.entries()) {
    const of = changed.get(set.scope) ?? new Map(set.departed);
    changed.set(set.scope, of);
    of.set(instance, index < granted ? { ...departed, phase: 'drains' } : { ...departed, refused: true });
  }
  const next = new Map(sets);
  for (const [scope, departed] of changed) next.set(scope, withDeparted(sets.get(scope)!, departed));
  return { sets: next, released: waiting.slice(0, granted).map(({ departed }) => departed) };
}
