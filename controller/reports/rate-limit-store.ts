import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../common/process/clock.ts';

interface Window {
  count: number;
  endsAt: number;
}

/**
 * Counters for `@fastify/rate-limit` on the monotonic clock. Its own counters use the wall clock, and setting that back
 * would extend a window. Keeps the `size` most recently used keys.
 */
export function rateLimitStore(clock: Clock, size = 20_000): FastifyRateLimitStoreCtor {
  type Answer = Parameters<FastifyRateLimitStore['incr']>[1];
  return class MonotonicStore implements FastifyRateLimitStore {
    readonly windows = new LRUCache<string, Window>({ max: size });

    incr(key: string, answer: Answer, timeWindow: number): void {
      const now = clock.monotonic();
      let window = this.windows.get(key);
      if (!window || window.endsAt <= now) window = { count: 0, endsAt: now + timeWindow };
      window.count += 1;
      this.windows.set(key, window);
      answer(null, { current: window.count, ttl: window.endsAt - now });
    }

    read(key: string, answer: Answer): void {
      const window = this.windows.get(key);
      const left = window ? window.endsAt - clock.monotonic() : 0;
      answer(null, window && left > 0 ? { current: window.count, ttl: left } : { current: 0, ttl: 0 });
    }

    child(): FastifyRateLimitStore {
      return new MonotonicStore();
    }
  };
}
