import type { NodeView } from '../model/node-view.ts';
import { deletionMark, isReleased } from './expected-termination.ts';
import type { Suspect } from './suspects.ts';

/** Whether the deletion of this Node needs no budget, even if nothing explains the absence of its instance. Pure. */
export function needsNoBudget(node: NodeView): boolean {
  return deletionMark(node) !== undefined || isReleased(node);
}

/**
 * Sorts suspects by who is asked for first, since a pass proves only few absences: Nodes whose deletion needs no
 * budget, those that wait for their second proof, those that have none, and last those that wait for the budget alone,
 * which would otherwise use up every pass. Among equals the one that has waited longest. Pure.
 */
export function inProofOrder<S extends { readonly suspect: Suspect; readonly node: NodeView }>(due: readonly S[]): S[] {
  return due
    .map((each) => ({ each, rank: rankOf(each.suspect, each.node) }))
    .sort((a, b) => a.rank - b.rank || a.each.suspect.answeredMs - b.each.suspect.answeredMs)
    .map(({ each }) => each);
}

function rankOf({ series, exhausted }: Suspect, node: NodeView): number {
  if (needsNoBudget(node)) return 0;
  if (series?.state !== 'absent') return 2;
  return exhausted ? 3 : 1;
}
