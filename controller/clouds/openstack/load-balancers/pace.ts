/** How long Octavia has taken lately for each kind of work, so that the first look comes when it is done and seldom before. */
export interface Pace {
  /** After how many milliseconds of work it may be done; undefined = nothing is known yet. */
  expectedMs(work: string): number | undefined;
  /** A look after so many milliseconds showed that work was done; it still went on at the look before, which was after `stillMs`, if there was one. */
  done(work: string, afterMs: number, stillMs: number | undefined): void;
}

const longestMs = 60_000;
/** What was done at the first look may have been done for long; the more so the more often that happens in a row. */
const sooner = 0.95;

export function createPace(): Pace {
  const expected = new Map<string, { readonly ms: number; readonly atOnce: number }>();
  return {
    expectedMs: (work) => expected.get(work)?.ms,
    done(work, afterMs, stillMs) {
      const before = expected.get(work) ?? { ms: afterMs, atOnce: 0 };
      const atOnce = stillMs === undefined ? before.atOnce + 1 : 0;
      const ms = stillMs === undefined ? before.ms * sooner ** atOnce : Math.max(stillMs, (before.ms + afterMs) / 2);
      expected.set(work, { ms: Math.min(longestMs, Math.round(ms)), atOnce });
    },
  };
}
