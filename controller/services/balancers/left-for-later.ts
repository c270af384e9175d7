import type { Match } from '../../engine/match.ts';
import { type Found, identityOf, type Kind, kindOf, nameOf, type Want } from '../../engine/resource.ts';
import type { Plan } from '../../engine/step.ts';

export interface LeftForLaterParts {
  readonly plan: Plan;
  readonly wants: readonly Want[];
  readonly match: Match;
  readonly kinds: ReadonlyMap<string, Kind>;
  /** Whether every Service that uses it is being removed. */
  isUsedNoMore(shared: Found): boolean;
}

/**
 * Kinds of the resources that stay as they are until the steps of this plan are done: what becomes of them, only the
 * plan after it says, from what the cloud shows then. Pure.
 */
export function leftForLater({ plan, wants, match, kinds, isUsedNoMore }: LeftForLaterParts): readonly string[] {
  const { steps, bound } = plan;
  if (steps.length === 0) return [];
  const used = new Set(Object.entries(bound).map(([name, id]) => identityOf({ kind: kindOf(name), id })));
  const removed = new Set(
    steps
      .flatMap((step) => [step, ...(step.edits ?? [])])
      .flatMap(({ do: action, as, found }) =>
        found !== undefined && (action === 'delete' || as === 'retained') ? [identityOf(found)] : [],
      ),
  );
  function goes(found: Found): boolean {
    const container = match.containerOf(found);
    return removed.has(identityOf(found)) || (container !== undefined && goes(container));
  }
  const standing = wants.filter((want) => want.leaveUnchanged && bound[nameOf(want)] !== undefined);
  const unused = match.ours.filter(
    (one) =>
      !used.has(identityOf(one)) && !goes(one) && (kinds.get(one.kind)?.merge === undefined || isUsedNoMore(one)),
  );
  return [...new Set([...standing, ...unused].map(({ kind }) => kind))].sort();
}
