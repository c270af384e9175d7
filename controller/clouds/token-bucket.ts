import type { Clock } from '../../common/process/clock.ts';

/** A rate limit: `burst` calls at once after a pause, and `perSecond` from then on. */
export interface CallLimits {
  /** More than 0. */
  readonly perSecond: number;
  /** At least 1. */
  readonly burst: number;
}

export interface TokenBucket {
  /** Takes one token; false when there is none. */
  take(): boolean;
  /** Milliseconds until the next try makes sense, though there may be no token even then. 0 when there is a token. */
  waitMs(): number;
  /** Halves the rate and empties the burst, because the limits were too high. The rate recovers step by step. */
  halve(): void;
}

/** A halved rate recovers by this share of the full rate per step: from half to full in a minute. */
const recoveryShare = 0.05;
const recoveryStepMs = 6000;
/** The lowest share of the rate: calls go on, however often the cloud refuses. */
const leastShare = 1 / 16;

/** A token bucket whose rate adapts to refusals (additive increase, multiplicative decrease). Sets no timer. */
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
      // Rounded up to a millisecond: timers have no finer resolution, and one that fires early finds no token.
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
