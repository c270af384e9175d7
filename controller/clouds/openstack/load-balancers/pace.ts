/** How long Octavia has taken lately for each kind of change, so that the first look comes when it is done and seldom before. */
export interface Pace {
  /** After how many milliseconds of work it may be done; undefined = nothing is known yet. */
  expectedMs(work: string): number | undefined;
  /** A look after so many milliseconds showed that work was done; it still went on at the look before, which was after `stillMs`, if there was one. */
  done(work: string, afterMs: number, stillMs: number | undefined): void;
}

/** With a whole load balancer a VM may come or go. */
const longestMs = { whole: 60_000, piece: 5000 };
/** What was done at the first look may have been done for long; the more so the more often that happens in a row. */
const sooner = 0.95;
/** What took long once need not do so again. */
const later = 1.5;
const laterMs = 1000;
/** No look is that much later than the one before by plan: whoever waited was away, paused or no leader. */
const tellsMs = 120_000;

export function createPace(): Pace {
  const expected = new Map<string, { readonly ms: number; readonly atOnce: number }>();
  return {
    expectedMs: (work) => expected.get(work)?.ms,
    done(work, afterMs, stillMs) {
      if (afterMs - (stillMs ?? 0) > tellsMs) return;
      const longest = work.endsWith('load balancer') ? longestMs.whole : longestMs.piece;
      const before = expected.get(work);
      const known = before?.ms ?? afterMs;
      const atOnce = stillMs === undefined ? (before?.atOnce ?? 0) + 1 : 0;
      const most = before === undefined ? longest : Math.min(longest, known * later + laterMs);
      const ms = stillMs === undefined ? known * sooner ** atOnce : Math.max(stillMs, (known + afterMs) / 2);
      expected.set(work, { ms: Math.round(Math.min(most, ms)), atOnce });
    },
  };
}
