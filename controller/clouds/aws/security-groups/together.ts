import { unlessAborted } from '../../../../common/process/until.ts';
import type { ReadOptions } from '../service-calls.ts';

/**
 * Calls at the same time share one read. No call gets the answer of a request that was sent before it: while one is
 * under way, all new calls wait for the next. A call that gives up leaves the others their read.
 */
export function createTogether<Answer>(
  read: (options: ReadOptions) => Promise<Answer>,
): (options: ReadOptions) => Promise<Answer> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<Answer> | undefined;

  return async ({ signal, urgency }) => {
    signal?.throwIfAborted();
    if (next === undefined) {
      const mine = running
        .catch(() => {})
        .then(() => {
          next = undefined;
          return read({ urgency });
        });
      next = mine;
      running = mine;
    }
    return unlessAborted(next, signal, () => signal?.reason);
  };
}
