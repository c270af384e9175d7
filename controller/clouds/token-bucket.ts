import type { Clock } from '../../common/process/clock.ts';

/** What a cloud takes without refusing: `burst` calls at once after a pause, and `perSecond` from then on. */
export interface CallLimits {
  /** More than 0. */
  readonly perSecond: number;
  /** At least 1. */
  readonly burst: number;
}

export interface TokenBucket {
  /** Takes one token; false when there is none. */
  take(): boolean;
  /** Milliseconds until it is worth trying again; there may be none even then. 0 when there is a token. */
  waitMs(): number;
  /** The limits were too high: half of the rate from now on, and no burst. The rate comes back bit by bit. */
  halve(): void;
}

/** A rate that was halved comes back by so much of the whole, every so often: from half to all in a minute. */
const recoveryShare = 0.05;
const recoveryStepMs = 6000;
/** However often a cloud refuses, it is asked again. */
const leastShare = 1 / 16;

/** A token bucket whose rate gives way to refusals (additive increase, multiplicative decrease). Sets no timer. */
export function createTokenBucket({ perSecond, burst }: CallLimits, clock: Pick<Clock, 'monotonic'>): TokenBucket {
  let tokens = burst;
  let filledAt = clock.monotonic();
  let share = 1;
  let nextStepAt = Number.POSITIVE_INFINITY;

  const perMs = () => (perSecond * share) / 1000;

  function fillUntil(at: number): void {
    tokens = Math.min(burst, tokens + (at - filledAt) * perMs());
    filledAt = at;
  }

  function fill(): void {
    const now = clock.monotonic();
    while (nextStepAt <= now) {
      fillUntil(nextStepAt);
      share = Math.min(1, share + recoveryShare);
      nextStepAt = share < 1 ? nextStepAt + recoveryStepMs : Number.POSITIVE_INFINITY;
    }
    fillUntil(now);
  }

  return {
    take() {
      fill();
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    waitMs() {
      fill();
      if (tokens >= 1) return 0;
      // Up to the next millisecond: timers have no finer grain, and one that is early finds no token.
      return Math.max(1, Math.ceil(Math.min((1 - tokens) / perMs(), nextStepAt - filledAt)));
    },
    halve() {
      fill();
      tokens = Math.min(tokens, 0);
      share = Math.max(leastShare, share / 2);
      nextStepAt = filledAt + recoveryStepMs;
    },
  };
}
