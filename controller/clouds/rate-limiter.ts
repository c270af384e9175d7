import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import { backoffMs } from '../../common/process/backoff.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Random } from '../../common/process/random.ts';
import { type CallQueue, createCallQueue } from './call-queue.ts';
import { longestAskedMs } from './retry-after.ts';
import { type CallLimits, createTokenBucket } from './token-bucket.ts';
import type { Urgency } from './urgency.ts';

export interface RateLimiterOptions {
  readonly cloud: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The first pause after a refusal without a time. Default 1 s. */
  readonly firstMs?: number;
  /** The longest pause after a refusal without a time. Default 2 minutes. */
  readonly maxMs?: number;
  /** The rate at which calls may start. Default: unlimited. */
  readonly limits?: CallLimits | undefined;
  /** Called once for every call that is subject to `limits`, when it may start or its wait was aborted. */
  readonly onWait?: ((wait: CallWait) => void) | undefined;
}

/** How long one call waited in the queue, for the metric `mooring_cloud_call_waiting_seconds{cloud,urgency}`. */
export interface CallWait {
  readonly cloud: string;
  readonly urgency: Urgency;
  readonly seconds: number;
}

export interface RateLimitedCall {
  /** Default `need`. */
  readonly urgency?: Urgency;
  /** Aborts the wait in the queue; the call is not made then. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Limits the calls to one account and class of API: the most urgent calls first, and none during a pause that the cloud
 * asked for.
 */
export interface RateLimiter {
  /**
   * Makes the call when it is its turn. During a pause it fails at once with `Throttled` and the remaining time; with
   * `Unavailable` when `signal` aborts the wait. A call that ends in `Throttled` starts a pause: as long as the cloud
   * asked for, at least a delay that doubles with every consecutive refusal. It also halves the rate of `limits`, which
   * recovers step by step.
   */
  run<T>(operation: string, call: () => Promise<T>, options?: RateLimitedCall): Promise<T>;
}

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

  /** Resolves when the call may start. */
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
        // Concurrent calls are refused together, which counts as one refusal.
        if (startedAt >= closedUntil) {
          refusals += 1;
          bucket?.halve();
        }
        const askedMs = Math.min(error.retryAfterMs ?? 0, longestAskedMs);
        const restMs = Math.max(askedMs, backoffMs(refusals, { firstMs, maxMs, random }));
        closedUntil = Math.max(closedUntil, clock.monotonic() + restMs);
        // The waiting calls fail at once, as a new call would.
        callQueue?.release();
        throw error.with({ operation, retryAfterMs: restMs, cause: error });
      }
    },
  };
}
