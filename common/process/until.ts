import type { Clock } from './clock.ts';

/** Resolves when the signal aborts; at once if it already has. Never rejects. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/**
 * The result of `work`, or a rejection with `interrupted()` as soon as the signal aborts. The work itself continues.
 * When this settles, it leaves no listener on the signal, which may live as long as the process.
 */
export async function unlessAborted<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  interrupted: () => unknown,
): Promise<T> {
  if (signal === undefined) return work;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(interrupted());
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([aborted.promise, work]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** The waits of one loop, one at a time. */
export interface Waiter {
  /**
   * Resolves after a time, at `wake`, or when the signal aborts, whichever comes first, with whether the time is over.
   * Never rejects.
   */
  wait(ms: number, signal: AbortSignal | undefined): Promise<boolean>;
  /** Ends the wait; no effect on later ones. */
  wake(): void;
}

export function createWaiter(clock: Clock): Waiter {
  let end: (() => void) | undefined;
  return {
    wait: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve(false);
        const timer = clock.setTimer(ms, () => finish(true));
        const interrupt = () => finish(false);
        function finish(isOver: boolean) {
          timer.cancel();
          signal?.removeEventListener('abort', interrupt);
          end = undefined;
          resolve(isOver);
        }
        signal?.addEventListener('abort', interrupt, { once: true });
        end = interrupt;
      }),
    wake: () => end?.(),
  };
}

/** Resolves after a time, or when the signal aborts, whichever comes first. Never rejects. */
export async function restOrAbort(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  await createWaiter(clock).wait(ms, signal);
}
