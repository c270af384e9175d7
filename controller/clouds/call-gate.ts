import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import { backoffMs } from '../../common/process/backoff.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Random } from '../../common/process/random.ts';

export interface CallGateOptions {
  readonly cloud: string;
  readonly clock: Clock;
  readonly random: Random;
  /** The first rest after a refusal that names no time. Default 1 s. */
  readonly firstMs?: number;
  /** The longest rest, also where the cloud asks for more. Default 2 minutes. */
  readonly maxMs?: number;
}

/**
 * Which call goes first where not all may go at once: `change` = removals and changes of load balancers and routes, and what has to be read right before one; `need` =
 * reads that a decision about one object waits for; `refresh` = reads of everything, which lose nothing by waiting.
 */
export type Urgency = 'change' | 'need' | 'refresh';

export interface GateCall {
  /** Default `need`. */
  readonly urgency?: Urgency;
  /** Ends the wait for a turn; the call is not made then. */
  readonly signal?: AbortSignal | undefined;
}

/** One scope's rest after the cloud said that there are too many calls. */
export interface CallGate {
  /**
   * Makes the call, or fails at once with `Throttled` and the time left while the scope rests. A call that ends in `Throttled` starts the
   * rest: as long as the cloud asked for, at least a delay that doubles with every refusal in a row.
   */
  run<T>(operation: string, call: () => Promise<T>, options?: GateCall): Promise<T>;
}

export function createCallGate({ cloud, clock, random, firstMs = 1000, maxMs = 120_000 }: CallGateOptions): CallGate {
  let refusals = 0;
  let closedUntil = 0;
  return {
    async run(operation, call) {
      const startedAt = clock.monotonic();
      const leftMs = closedUntil - startedAt;
      if (leftMs > 0) {
        const message = 'not called: the cloud asked for fewer calls';
        throw new CloudError({ kind: 'Throttled', cloud, operation, message, retryAfterMs: leftMs });
      }
      try {
        const answer = await call();
        if (startedAt >= closedUntil) refusals = 0;
        return answer;
      } catch (error) {
        if (!isCloudError(error) || error.kind !== 'Throttled') throw error;
        // Calls that were under way together are refused together: one refusal.
        if (startedAt >= closedUntil) refusals += 1;
        const restMs = Math.min(
          maxMs,
          Math.max(error.retryAfterMs ?? 0, backoffMs(refusals, { firstMs, maxMs, random })),
        );
        closedUntil = Math.max(closedUntil, clock.monotonic() + restMs);
        const message = error.message.replace(`${cloud} ${error.operation}: `, '');
        throw new CloudError({ kind: 'Throttled', cloud, operation, message, retryAfterMs: restMs, cause: error });
      }
    },
  };
}
