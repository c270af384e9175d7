import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import type { Basics } from './basics.ts';
import type { Driver } from './driver.ts';
import type { Answer, OperationState } from './resource.ts';

export type Operations = ReturnType<typeof createOperations>;

interface Waiting {
  readonly promise: Promise<void>;
  readonly sinceMs: number;
  readonly estimateKey: string | undefined;
  dueMs: number;
  delayMs: number;
  polls: number;
  failures: number;
  resolve(): void;
  reject(error: unknown): void;
}

const firstMs = 250;
const maxMs = 5000;
/** Operations that are due within this time are polled together with those that are due now. */
const sharedPollMs = 250;
const maxFailures = 4;
const longestMs = 900_000;
/** Where the first poll shows the end, the operation may have ended earlier: this share of the time is used. */
const firstPollShare = 0.8;

/** Waits for the end of operations; one poll covers all that are due. */
export function createOperations({ clock, signal, poll }: Pick<Basics, 'clock' | 'signal'> & Pick<Driver, 'poll'>) {
  const waiting = new Map<string, Waiting>();
  /** How long the last operation of that kind lasted. */
  const lasted = new Map<string, number>();
  let isPolling = false;
  let timer: { cancel(): void } | undefined;
  const nowMs = () => clock.monotonic();

  function close(id: string, state: OperationState | { readonly error: unknown }): void {
    const one = waiting.get(id);
    waiting.delete(id);
    if (one?.estimateKey !== undefined && state === 'done')
      lasted.set(one.estimateKey, (nowMs() - one.sinceMs) * (one.polls === 1 ? firstPollShare : 1));
    if (state === 'done') one?.resolve();
    else one?.reject(typeof state === 'object' && 'error' in state ? state.error : state);
  }

  async function pollDue(): Promise<void> {
    const due = [...waiting].filter(([, { dueMs }]) => dueMs <= nowMs() + sharedPollMs);
    const ids = due.map(([id]) => id);
    try {
      const states = await poll(ids, { signal });
      for (const [id, one] of due) {
        one.polls += 1;
        one.failures = 0;
        const state = states.get(id) ?? 'done';
        if (state !== 'running') close(id, state);
        else if (nowMs() >= one.sinceMs + longestMs) close(id, timeout(id));
        else later(one);
      }
    } catch (error) {
      for (const [id, one] of due) {
        one.failures += 1;
        if (one.failures >= maxFailures || !isCloudError(error) || signal?.aborted) close(id, { error });
        else later(one);
      }
    }
  }

  function later(one: Waiting): void {
    one.dueMs = nowMs() + one.delayMs;
    one.delayMs = Math.min(one.delayMs * 1.5, maxMs);
  }

  /** Sets the timer for the next operation that is due. */
  function arm(): void {
    timer?.cancel();
    timer = undefined;
    if (waiting.size === 0 || isPolling) return;
    const dueMs = Math.min(...[...waiting.values()].map((one) => one.dueMs));
    timer = clock.setTimer(Math.max(0, dueMs - nowMs()), () => void turn());
  }

  async function turn(): Promise<void> {
    isPolling = true;
    await pollDue();
    isPolling = false;
    arm();
  }

  const stopped = () => {
    const error = new CloudError({ kind: 'Unavailable', cloud: '', operation: 'poll', message: 'interrupted' });
    for (const id of [...waiting.keys()]) close(id, { error });
    arm();
  };
  signal?.addEventListener('abort', stopped, { once: true });

  return {
    /** Whether a caller waits for its end. */
    isWaitedFor: (operation: string) => waiting.has(operation),
    /**
     * Resolves when the operation has ended; rejects with its error, or when polling fails.
     *
     * @param lasts how long, where the cloud or an earlier operation tells
     */
    end(operation: string, lasts?: Answer['lasts']): Promise<void> {
      const waited = waiting.get(operation);
      if (waited !== undefined) return waited.promise;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      // A rejection after every caller has given up must not end the process.
      promise.catch(() => undefined);
      const aboutMs = lasts === undefined ? firstMs : Math.min(lasted.get(lasts.estimateKey) ?? lasts.ms, 2 * lasts.ms);
      const delayMs = Math.min(maxMs, Math.max(firstMs, lasts === undefined ? firstMs * 1.5 : aboutMs / 6));
      const times = { sinceMs: nowMs(), dueMs: nowMs() + aboutMs, delayMs, polls: 0, failures: 0 };
      waiting.set(operation, { promise, estimateKey: lasts?.estimateKey, ...times, resolve, reject });
      if (signal?.aborted) stopped();
      else arm();
      return promise;
    },
  };
}

function timeout(id: string): CloudError {
  const message = `operation ${id} has not ended after ${longestMs / 60_000} minutes`;
  return new CloudError({ kind: 'Timeout', cloud: '', operation: 'poll', message });
}
