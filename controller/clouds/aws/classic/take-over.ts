import { plannedCall } from '../security-groups/security-group-call.ts';
import { type ClassicPieces, ownGroupIn, ownTags } from './observed.ts';
import { type ClassicStep, groupStep } from './step.ts';

/** The group in front of one that was taken over gets our tags, by which it is found when the load balancer is gone. */
export function takeOverGroup(pieces: ClassicPieces): readonly ClassicStep[] {
  const { subject, facts, adopted } = pieces;
  const group = ownGroupIn(pieces);
  if (!adopted || group === undefined) return [];
  const tags = ownTags(subject);
  const there = facts.groups.get(group.id)?.tags ?? {};
  if (Object.entries(tags).every(([key, value]) => there[key] === value)) return [];
  return [groupStep(subject, plannedCall({ does: 'tag security group', group: group.id, tags }, group.name))];
}
