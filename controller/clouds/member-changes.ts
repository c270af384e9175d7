import type { Change } from '../engine/resource.ts';
import { chunks } from './parallel.ts';

export interface MemberDifference<A, R> {
  readonly added: readonly A[];
  readonly removed: readonly R[];
  /** How many there are now. */
  readonly count: number;
  /** Whether this member fails its health check. Default: the cloud does not tell, so none does. */
  isFailed?(removed: R): boolean;
  /** The most that one call takes. Default: any number. */
  readonly atOnce?: number;
}

type Told = Pick<Change, 'what' | 'summary' | 'body'>;

/**
 * The calls for members that join and leave. Those that leave go once the others have joined, or were refused: a member
 * that cannot join keeps none that is to go. Where all are exchanged they stay until the others have joined, so that
 * no set is ever empty; only where there is no room for these, members that have failed go before, but for the last.
 * Pure.
 */
export function memberChanges<A, R>(
  { added, removed, count, isFailed = () => false, atOnce = Number.POSITIVE_INFINITY }: MemberDifference<A, R>,
  join: (members: readonly A[], at: number) => Told,
  leave: (members: readonly R[], at: number) => Told,
): Change[] {
  const joining = chunks(added, atOnce).map((some, at): Change => ({ ...join(some, at), phase: 'grow' }));
  const after = joining.map(({ what }) => what);
  const isAnyStaying = removed.length < count;
  const idle = isAnyStaying ? removed : removed.filter(isFailed);
  const first = new Set(idle.length < count ? idle : idle.slice(1));
  const makingRoom = chunks([...first], atOnce).map((some, at): Change => {
    return { ...leave(some, at), phase: 'shrink', after: isAnyStaying ? [] : after, makesRoom: true };
  });
  const others = removed.filter((one) => !first.has(one));
  const leaving = chunks(others, atOnce).map((some, at): Change => {
    return { ...leave(some, makingRoom.length + at), phase: 'shrink', after };
  });
  return [...joining, ...makingRoom, ...leaving];
}
