import { backoffMs } from '../../common/process/backoff.ts';
import type { Clock } from '../../common/process/clock.ts';
import { errorFields, type Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import { restOrAbort } from '../../common/process/until.ts';

const retry = { firstMs: 500, maxMs: 30_000 };

/**
 * Reads data that a new leader needs first, and repeats failed reads with back-off. Leaders often change when the API
 * server restarts, so a single failure must not end the term. Undefined once the signal has aborted. Reads only.
 */
export async function firstRead<T>(
  what: string,
  read: () => Promise<T>,
  { clock, random, log }: { readonly clock: Clock; readonly random: Random; readonly log: Log },
  signal: AbortSignal,
): Promise<T | undefined> {
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      return await read();
    } catch (error) {
      const waitMs = backoffMs(failures, { ...retry, random });
      log.warn('first read of a new leader failed', { what, failures, retryInMs: waitMs, ...errorFields(error) });
      await restOrAbort(clock, waitMs, signal);
    }
  }
  return undefined;
}
