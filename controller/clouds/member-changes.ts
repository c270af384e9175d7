import type { Change } from '../engine/resource.ts';
import { chunks } from './parallel.ts';

export interface MemberDifference<A, R> {
  readonly added: readonly A[];
  readonly removed: readonly R[];
  /** The most that one call takes. Default: any number. */
  readonly atOnce?: number;
}

type Told = Pick<Change, 'what' | 'summary' | 'body'>;

/** The calls for members that join and leave: all have joined before one leaves, so that no set is ever empty. Pure. */
export function memberChanges<A, R>(
  { added, removed, atOnce = Number.POSITIVE_INFINITY }: MemberDifference<A, R>,
  join: (members: readonly A[], at: number) => Told,
  leave: (members: readonly R[], at: number) => Told,
): Change[] {
  const joining = chunks(added, atOnce).map((some, at): Change => ({ ...join(some, at), phase: 'grow' }));
  const after = joining.map(({ what }) => what);
  return [
    ...joining,
    ...chunks(removed, atOnce).map((some, at): Change => ({ ...leave(some, at), phase: 'shrink', after })),
  ];
}
