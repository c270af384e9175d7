import type { Change } from '../engine/resource.ts';
import { chunks } from './parallel.ts';

export interface MemberDifference<A, R> {
  readonly added: readonly A[];
  readonly removed: readonly R[];
  /** How many there are now. */
  readonly count: number;
  /** The most that one call takes. Default: any number. */
  readonly atOnce?: number;
}

type Told = Pick<Change, 'what' | 'summary' | 'body'>;

/**
 * The calls for members that join and leave. Where there is no room for those that join, the others leave first, but
 * not the last one: if all are exchanged, it stays until all have joined, and one joins by a call of its own, for which
 * there is room as soon as the others have left. Pure.
 */
export function memberChanges<A, R>(
  { added, removed, count, atOnce = Number.POSITIVE_INFINITY }: MemberDifference<A, R>,
  join: (members: readonly A[], at: number) => Told,
  leave: (members: readonly R[], at: number) => Told,
): Change[] {
  const alone = removed.length === count && removed.length > 0 && added.length > 0 ? 1 : 0;
  const split = <T>(all: readonly T[]) =>
    [all.slice(0, alone), ...chunks(all.slice(alone), atOnce)].filter(({ length }) => length > 0);
  const joining = split(added).map((some, at): Change => ({ ...join(some, at), phase: 'grow' }));
  const after = joining.map(({ what }) => what);
  const leaving = split(removed).map((some, at): Change => {
    const makesRoom = at >= alone && { makesRoom: true as const };
    return { ...leave(some, at), phase: 'shrink', after, ...makesRoom };
  });
  return [...joining, ...leaving];
}
