import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../common/process/clock.ts';
import { createTokenBucket, type TokenBucket } from '../../clouds/token-bucket.ts';

/** Limits the reviews at the API server for clients that are not trusted yet. */
export interface ReviewRateLimiter {
  /**
   * Takes one token for a client of this group of addresses. Returns 0, or after how many milliseconds the client may
   * try again.
   */
  take(group: string): number;
}

/** Trusted clients are not limited, so this is only for the first scrape of each token. */
const ofOneGroup = { perSecond: 1, burst: 10 };
const ofAll = { perSecond: 2, burst: 20 };
const maxGroups = 1_000;

/** Limits calls per address and in total, so that one address cannot use up the limit of the others. */
export function createReviewRateLimiter(clock: Pick<Clock, 'monotonic'>): ReviewRateLimiter {
  const all = createTokenBucket(ofAll, clock);
  const groups = new LRUCache<string, TokenBucket>({ max: maxGroups });
  return {
    take(group) {
      const own = groups.get(group) ?? createTokenBucket(ofOneGroup, clock);
      groups.set(group, own);
      const waitMs = Math.max(own.waitMs(), all.waitMs());
      if (waitMs > 0) return waitMs;
      own.take();
      all.take();
      return 0;
    },
  };
}
