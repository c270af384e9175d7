import { type Clock, sleep } from '../../common/process/clock.ts';

/** Lets a caller pass when its turn has come; rejects when the signal aborts before. */
export type Pace = (signal: AbortSignal) => Promise<void>;

/** At most `count` passes in any `perMs` milliseconds, in the order of asking. */
export function createPace(clock: Clock, count: number, perMs: number): Pace {
  /** When each of the latest `count` passes was, or will be. */
  const passes: number[] = [];
  return async (signal) => {
    const now = clock.monotonic();
    const turn = passes.length < count ? now : Math.max(now, passes[0]! + perMs);
    passes.push(turn);
    if (passes.length > count) passes.shift();
    if (turn > now) await sleep(clock, turn - now, signal);
  };
}
