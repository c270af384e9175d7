import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../common/process/clock.ts';

/** A cache of the API server's verdicts. */
export interface VerdictCache<V> {
  /**
   * Returns the cached verdict while it is valid, else that of `load`. Concurrent requests for one key share one call.
   * A failure is not cached.
   */
  get(key: string, load: () => Promise<V>): Promise<V>;
}

/**
 * @param keepMs how long a verdict is valid
 * @param max how many verdicts are kept; the least recently used are dropped
 */
export function createVerdictCache<V extends NonNullable<unknown>>(
  clock: Pick<Clock, 'monotonic'>,
  keepMs: (verdict: V) => number,
  max: number,
): VerdictCache<V> {
  const kept = new LRUCache<string, { readonly verdict: V; readonly until: number }>({ max });
  const underWay = new Map<string, Promise<V>>();

  async function fresh(key: string, load: () => Promise<V>): Promise<V> {
    try {
      const verdict = await load();
      kept.set(key, { verdict, until: clock.monotonic() + keepMs(verdict) });
      return verdict;
    } finally {
      underWay.delete(key);
    }
  }

  return {
    async get(key, load) {
      const held = kept.get(key);
      if (held && clock.monotonic() < held.until) return held.verdict;
      const shared = underWay.get(key);
      if (shared) return shared;
      const asked = fresh(key, load);
      underWay.set(key, asked);
      return asked;
    },
  };
}
