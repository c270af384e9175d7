import { CloudError } from '../../common/cloud-error.ts';
import type { Permit } from './permit.ts';

/** One change that shares its calls with others that were submitted at the same time. */
export interface PendingChange<Change, Result> {
  readonly change: Change;
  readonly permit: Permit;
  resolve(result: Result): void;
  reject(error: unknown): void;
  /** Whether it has its answer. */
  readonly done: boolean;
}

/**
 * Runs changes in batches, one after another: the changes that arrive while a batch runs form the next one. `run`
 * settles each change; those it leaves unsettled, or all when it throws, are refused with its error.
 *
 * @param run its signal aborts when every caller has given up
 */
export function createBatches<Change, Result>(
  cloud: string,
  run: (batch: readonly PendingChange<Change, Result>[], signal: AbortSignal) => Promise<void>,
): (change: Change, permit: Permit, signal?: AbortSignal) => Promise<Result> {
  const waiting: (PendingChange<Change, Result> & { readonly signal: AbortSignal | undefined })[] = [];
  let running = false;

  async function runAll(): Promise<void> {
    if (running) return;
    running = true;
    // Changes of the same tick share one request.
    await Promise.resolve();
    while (waiting.length > 0) {
      const all = waiting.splice(0);
      for (const pending of all) if (pending.signal?.aborted) pending.reject(givenUp(cloud));
      const batch = all.filter(({ done }) => !done);
      if (batch.length === 0) continue;
      const over = new AbortController();
      const look = () => {
        if (batch.every(({ signal }) => signal?.aborted)) over.abort();
      };
      for (const { signal } of batch) signal?.addEventListener('abort', look, { once: true });
      try {
        await run(batch, over.signal);
        for (const pending of batch) pending.reject(new Error('left without an answer'));
      } catch (error) {
        for (const pending of batch) pending.reject(error);
      } finally {
        for (const { signal } of batch) signal?.removeEventListener('abort', look);
      }
    }
    running = false;
  }

  return (change, permit, signal) =>
    new Promise<Result>((resolve, reject) => {
      let done = false;
      const once = (act: () => void) => {
        if (done) return;
        done = true;
        act();
      };
      waiting.push({
        change,
        permit,
        signal,
        resolve: (result) => once(() => resolve(result)),
        reject: (error) => once(() => reject(error)),
        get done() {
          return done;
        },
      });
      void runAll();
    });
}

function givenUp(cloud: string): CloudError {
  return new CloudError({ kind: 'Unavailable', cloud, operation: 'routes', message: 'given up' });
}

/** A change of the batch lost its permit: the batch has to be formed again without it. */
class Regroup extends Error {}

/**
 * Sends what `send` returns for the changes still waiting, under the permit of each of them. Those without a permit are
 * refused, and the others go without them. Throws what `send` throws.
 */
export async function sendTogether<Change, Result, Answer>(
  pendings: readonly PendingChange<Change, Result>[],
  send: (permitted: readonly PendingChange<Change, Result>[], permit: Permit) => Promise<Answer>,
): Promise<{ readonly permitted: readonly PendingChange<Change, Result>[]; readonly answer: Answer } | undefined> {
  for (;;) {
    const permitted = pendings.filter(({ done }) => !done);
    if (permitted.length === 0) return undefined;
    const permit: Permit = (timeoutMs) => {
      // Changes that `send` has refused already need no permit.
      if (permitted.some(({ done }) => done)) throw new Regroup();
      for (const pending of permitted) {
        try {
          pending.permit(timeoutMs);
        } catch (error) {
          pending.reject(error);
        }
      }
      if (permitted.some(({ done }) => done)) throw new Regroup();
    };
    try {
      return { permitted, answer: await send(permitted, permit) };
    } catch (error) {
      if (!(error instanceof Regroup)) throw error;
    }
  }
}
