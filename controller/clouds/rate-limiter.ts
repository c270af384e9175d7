import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import { backoffMs } from '../../common/process/backoff.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Random } from '../../common/process/random.ts';
import { type CallQueue, createCallQueue } from './call-queue.ts';
import { type CallLimits, createTokenBucket } from './token-bucket.ts';
import type { Urgency } from './urgency.ts';

export interface RateLimiterOptions {
  readonly cloud: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The first rest after a refusal that names no time. Default 1 s. */
  readonly firstMs?: number;
  /** The longest rest after a refusal that names no time. Default 2 minutes. */
  readonly maxMs?: number;
  /** How many calls may start. Default: as many as are asked for. */
  readonly limits?: CallLimits | undefined;
  /** Called once for every call that had to pass `limits`, when its turn has come or its wait has ended without. */
  readonly onWait?: ((wait: CallWait) => void) | undefined;
}

/** How long one call waited for its turn, for the metric `mooring_cloud_call_waiting_seconds{cloud,urgency}`. */
export interface CallWait {
  readonly cloud: string;
  readonly urgency: Urgency;
  readonly seconds: number;
}

export interface RateLimitedCall {
  /** Default `need`. */
  readonly urgency?: Urgency;
  /** Ends the wait for a turn; the call is not made then. */
  readonly signal?: AbortSignal | undefined;
}

/** The calls to one account and class of API: so many at a time as the cloud takes, the urgent ones first, none while it wants rest. */
export interface RateLimiter {
  /**
   * Makes the call when its turn has come, or fails with `Throttled` and the time left as soon as the scope rests; with `Unavailable` when `signal` ends the wait. A call
   * that ends in `Throttled` starts the rest: as long as the cloud asked for, at least a delay that doubles with every refusal in a row. It also halves the rate of
   * `limits`, which comes back bit by bit.
   */
  run<T>(operation: string, call: () => Promise<T>, options?: RateLimitedCall): Promise<T>;
}

/** A cloud that asks for more may have been misread. */
const longestAskedMs = 900_000;

export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { cloud, clock, random, firstMs = 1000, maxMs = 120_000, limits, onWait } = options;
  let refusals = 0;
  let closedUntil = 0;
  const bucket = limits && createTokenBucket(limits, clock);
  const callQueue = bucket && createCallQueue(bucket, clock);

  function failWhileResting(operation: string): void {
    const leftMs = closedUntil - clock.monotonic();
    if (leftMs <= 0) return;
    const message = 'not called: the cloud asked for fewer calls';
    throw new CloudError({ kind: 'Throttled', cloud, operation, message, retryAfterMs: leftMs });
  }

  /** Until the call may start. */
  async function pass(
    callQueue: CallQueue,
    operation: string,
    { urgency = 'need', signal }: RateLimitedCall,
  ): Promise<void> {
    const askedAt = clock.monotonic();
    try {
      await callQueue.wait(urgency, signal);
    } catch (cause) {
      const message = 'given up before its turn came';
      throw new CloudError({ kind: 'Unavailable', cloud, operation, message, cause });
    } finally {
      onWait?.({ cloud, urgency, seconds: (clock.monotonic() - askedAt) / 1000 });
    }
    failWhileResting(operation);
  }

  return {
    async run(operation, call, options = {}) {
      failWhileResting(operation);
      if (callQueue) await pass(callQueue, operation, options);
      const startedAt = clock.monotonic();
      try {
        const answer = await call();
        if (startedAt >= closedUntil) refusals = 0;
        return answer;
      } catch (error) {
        if (!isCloudError(error) || error.kind !== 'Throttled') throw error;
        // Calls that were under way together are refused together: one refusal.
        if (startedAt >= closedUntil) {
          refusals += 1;
          bucket?.halve();
        }
        const askedMs = Math.min(error.retryAfterMs ?? 0, longestAskedMs);
        const restMs = Math.max(askedMs, backoffMs(refusals, { firstMs, maxMs, random }));
        closedUntil = Math.max(closedUntil, clock.monotonic() + restMs);
        // They fail at once, as a call that comes now would.
        callQueue?.release();
        const message = error.message.replace(`${cloud} ${error.operation}: `, '');
        throw new CloudError({ kind: 'Throttled', cloud, operation, message, retryAfterMs: restMs, cause: error });
      }
    },
  };
}
