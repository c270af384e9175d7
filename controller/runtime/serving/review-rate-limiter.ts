import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../common/process/clock.ts';
import { createTokenBucket, type TokenBucket } from '../../clouds/token-bucket.ts';

/** How often clients that have proved nothing may make us ask the API server. */
export interface ReviewRateLimiter {
  /** Takes one permit for a client of that group of addresses. Answers 0, or after how many milliseconds it may try again. */
  take(group: string): number;
}

/** A client that is known asks no permit, so this is for the first scrape of each token alone. */
const ofOneGroup = { perSecond: 1, burst: 10 };
const ofAll = { perSecond: 2, burst: 20 };
const maxGroups = 1_000;

/** Bounds calls by address and in all, so that one address cannot use up what the others need. */
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
