import type { Answer, WriteIo } from '../../../engine/resource.ts';
import { type FoundParts, foundOf } from './found.ts';
import type { Shown } from './project.ts';

/** The answer of a change. */
export function answerOf(shown: Shown, { owner }: WriteIo, parts: FoundParts): Answer {
  return { id: shown.id, found: [foundOf(shown, owner.cluster, parts)] };
}

/** In any order. */
export function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.toSorted().join() === b.toSorted().join();
}
