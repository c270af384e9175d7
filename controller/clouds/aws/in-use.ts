import type { Clock } from '../../../common/process/clock.ts';

export interface Patience {
  readonly firstMs: number;
  readonly longestMs: number;
  /** After that something else uses it. */
  readonly wholeMs: number;
}

/** What AWS did not delete because something still used it: it tells when that ends only by refusing. */
export function createInUse(clock: Pick<Clock, 'monotonic'>, { firstMs, longestMs, wholeMs }: Patience) {
  const tried = new Map<string, { readonly sinceMs: number; readonly tries: number }>();
  return {
    /** It was refused once more. */
    refused(id: string) {
      const now = clock.monotonic();
      const { sinceMs, tries } = tried.get(id) ?? { sinceMs: now, tries: 0 };
      tried.set(id, { sinceMs, tries: tries + 1 });
      return { retryAfterMs: Math.min(firstMs * 2 ** tries, longestMs), isLate: now - sinceMs >= wholeMs };
    },
    ended: (id: string) => void tried.delete(id),
  };
}
