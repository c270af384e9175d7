import { CloudError } from '../../common/cloud-error.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { FieldsContext } from './fields.ts';

/** How long the service is requested to hold a long poll, in seconds. */
export const longPollSeconds = 60;
/** The service ends the request by itself; the timeout leaves it time for the answer. */
export const longPollTimeoutMs = (longPollSeconds + 10) * 1000;
/** A long poll that ends sooner without a change is a fault of the service. */
const shortestWaitMs = 1000;

/** Waits until a document differs from the one last read, by its ETag. */
export interface LongPoll {
  /** Records the state that was read. */
  seen(etag: string): void;
  /**
   * Resolves with the first change after the last read, over as many polls as needed; rejects as `ask` does. Requires a
   * first read.
   */
  wait(signal: AbortSignal): Promise<void>;
}

export interface LongPollOptions {
  readonly clock: Clock;
  readonly context: FieldsContext;
  /**
   * Sends one request that the service answers when its document no longer has this ETag, or after `longPollSeconds`.
   * Resolves with the ETag of the answer.
   */
  ask(lastEtag: string, signal: AbortSignal): Promise<string>;
}

export function createLongPoll({ clock, context, ask }: LongPollOptions): LongPoll {
  let known: string | undefined;
  const firstRead = Promise.withResolvers<void>();

  return {
    seen(etag) {
      known = etag;
      firstRead.resolve();
    },
    async wait(signal) {
      await orAborted(firstRead.promise, signal);
      while (true) {
        const last = known!;
        const startedAt = clock.monotonic();
        const etag = await ask(last, signal);
        if (etag !== known) {
          // The next wait is for the change after this one, even if this one was not read yet.
          known = etag;
          return;
        }
        if (etag === last && clock.monotonic() - startedAt < shortestWaitMs) {
          throw new CloudError({ ...context, kind: 'Invalid', message: 'a long poll ended at once without a change' });
        }
      }
    },
  };
}

/** Settles as the promise does, or rejects as soon as the signal aborts. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
