import type { Answer, Found, WriteIo } from '../../../engine/resource.ts';
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

/** What all kinds have in common: names are unique, so a create that is repeated makes no second one. */
export function usual({ project }: FoundParts) {
  return {
    retryCreate: 'atOnce' as const,
    // An operation that was started may run for so long before a list shows its end.
    settleMs: 15_000,
    async remove({ body }: Found<Shown>, io: WriteIo): Promise<Answer> {
      await project.remove(body.path, io);
      return {};
    },
  };
}
