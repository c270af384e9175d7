import type { Clock } from '../../../common/process/clock.ts';

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** One token bucket per project; a project without a rate is not limited. */
export interface Throttle {
  /** Replaces the project's bucket by a full one of this rate; undefined lifts the limit. */
  set(project: string, rate: Rate | undefined): void;
  /** Takes a token. @returns 0, or after how many whole seconds there will be one again */
  take(project: string): number;
}

export function throttle(clock: Clock): Throttle {
  const buckets = new Map<string, { rate: Rate; tokens: number; at: number }>();
  return {
    set(project, rate) {
      if (rate) buckets.set(project, { rate, tokens: rate.burst, at: clock.monotonic() });
      else buckets.delete(project);
    },
    take(project) {
      const bucket = buckets.get(project);
      if (!bucket) return 0;
      const now = clock.monotonic();
      const { perSecond, burst } = bucket.rate;
      bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
      bucket.at = now;
      if (bucket.tokens < 1) return Math.max(1, Math.ceil((1 - bucket.tokens) / perSecond));
      bucket.tokens -= 1;
      return 0;
    },
  };
}
