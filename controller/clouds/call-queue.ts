import type { Clock, Timer } from '../../common/process/clock.ts';
import type { TokenBucket } from './token-bucket.ts';
import type { Urgency } from './urgency.ts';

/** Who waits for a token, and whose turn it is. */
export interface CallQueue {
  /** Resolves when the turn has come and a token is taken. Rejects with the signal's reason as soon as it aborts; no token is taken then. */
  wait(urgency: Urgency, signal?: AbortSignal): Promise<void>;
  /** Lets everybody go at once, without tokens. */
  release(): void;
}

interface Waiting {
  readonly since: number;
  readonly order: number;
  go(): void;
}

const ranks: Readonly<Record<Urgency, number>> = { change: 0, need: 1, refresh: 2 };
/** Whoever has waited for so long is as urgent as the next class, so that nobody waits for ever. */
const promotionMs = 30_000;

/** By urgency, and first come first served within one. Has a timer only while somebody waits. */
export function createCallQueue(bucket: TokenBucket, clock: Clock): CallQueue {
  // Sets keep the order of arrival and let go of any one in no time.
  const queues: readonly Set<Waiting>[] = [new Set(), new Set(), new Set()];
  let arrivals = 0;
  let timer: Timer | undefined;

  /** The most urgent; within one class by arrival, so that the first of each queue stands for it. */
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
        // While a timer runs there is no token, and whoever comes later changes only whose turn the next is.
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
