import { type Clock, sleep } from '../../common/process/clock.ts';

/** Resolves when the caller may proceed; rejects when the signal aborts earlier. */
export type RateLimit = (signal: AbortSignal) => Promise<void>;

/** A rate limit: at most `count` calls in any `perMs` milliseconds, in the order of arrival. */
export function createRateLimit(clock: Clock, count: number, perMs: number): RateLimit {
  /** The times of the latest `count` calls, past or scheduled. */
  const passes: number[] = [];
  return async (signal) => {
    const now = clock.monotonic();
    const turn = passes.length < count ? now : Math.max(now, passes[0]! + perMs);
    passes.push(turn);
    if (passes.length > count) passes.shift();
    if (turn > now) await sleep(clock, turn - now, signal);
  };
}
