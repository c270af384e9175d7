import type { Clock, Timer } from '../../common/process/clock.ts';
import type { TokenBucket } from './token-bucket.ts';
import type { Urgency } from './urgency.ts';

/** The queue of calls that wait for a token. */
export interface CallQueue {
  /**
   * Resolves when the call has a token. Rejects with the signal's reason as soon as it aborts; no token is taken then.
   */
  wait(urgency: Urgency, signal?: AbortSignal): Promise<void>;
  /** Releases all waiting calls at once, without tokens. */
  release(): void;
}

interface Waiting {
  readonly since: number;
  readonly order: number;
  go(): void;
}

const ranks: Readonly<Record<Urgency, number>> = { change: 0, need: 1, refresh: 2 };
/** A call that has waited this long counts as one class more urgent, so that no call waits for ever. */
const promotionMs = 30_000;

/** Orders calls by urgency, and first come, first served within one class. Sets a timer only while calls wait. */
export function createCallQueue(bucket: TokenBucket, clock: Clock): CallQueue {
  // Sets keep the order of arrival and remove any element in constant time.
  const queues: readonly Set<Waiting>[] = [new Set(), new Set(), new Set()];
  let arrivals = 0;
  let timer: Timer | undefined;

  /** The most urgent call; within one class the first, so only the head of each queue is compared. */
  function next(): { readonly queue: Set<Waiting>; readonly waiting: Waiting } | undefined {
    const now = clock.monotonic();
    let best: { queue: Set<Waiting>; waiting: Waiting; rank: number } | undefined;
    for (const [index, queue] of queues.entries()) {
      const [waiting] = queue;
      if (waiting === undefined) continue;
      const rank = Math.max(0, index - Math.floor((now - waiting.since) / promotionMs));
      if (best === undefined || rank < best.rank || (rank === best.rank && waiting.order < best.waiting.order))
        best = { queue, waiting, rank };
    }
    return best;
  }

  function serve(): void {
    timer?.cancel();
    timer = undefined;
    for (let first = next(); first !== undefined; first = next()) {
      if (!bucket.take()) {
        timer = clock.setTimer(bucket.waitMs(), serve);
        return;
      }
      first.queue.delete(first.waiting);
      first.waiting.go();
    }
  }

  return {
    wait(urgency, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        const queue = queues[ranks[urgency]] as Set<Waiting>;
        const onAbort = () => {
          queue.delete(waiting);
          if (queues.every(({ size }) => size === 0)) {
            timer?.cancel();
            timer = undefined;
          }
          reject(signal?.reason);
        };
        const waiting: Waiting = {
          since: clock.monotonic(),
          order: arrivals++,
          go() {
            signal?.removeEventListener('abort', onAbort);
            resolve();
          },
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        queue.add(waiting);
        // While a timer runs there is no token. A later call only changes which call is next.
        if (timer === undefined) serve();
      });
    },
    release() {
      timer?.cancel();
      timer = undefined;
      for (const queue of queues) {
        for (const waiting of queue) waiting.go();
        queue.clear();
      }
    },
  };
}
