/** How long Octavia has taken lately for each kind of work, so that the first look comes when it may be done and not before. */
export interface Pace {
  /** After how many milliseconds of work a look is worth it; 0 = nothing is known yet. */
  expectedMs(work: string): number;
  /** Work is done: it was still going on after so many milliseconds, at the last look before; 0 = this was the first look. */
  done(work: string, stillAtMs: number): void;
}

const longestMs = 30_000;
/** What was done at the first look may have been done for long. */
const sooner = 0.8;

export function createPace(): Pace {
  const expected = new Map<string, number>();
  return {
    expectedMs: (work) => expected.get(work) ?? 0,
    done(work, stillAtMs) {
      const before = expected.get(work);
      const next = stillAtMs === 0 ? (before ?? 0) * sooner : ((before ?? stillAtMs) + stillAtMs) / 2;
      expected.set(work, Math.min(longestMs, Math.round(next)));
    },
  };
}
