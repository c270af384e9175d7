import type { Clock, Timer } from '../../common/process/clock.ts';

/** A clock that can skip the time in which nothing happens. Otherwise it runs as `base` does. */
export interface SkippingClock extends Clock {
  /** How long was skipped so far, milliseconds. */
  readonly aheadMs: number;
  /** When the next timer is due, in milliseconds from now; undefined without timers. */
  nextInMs(): number | undefined;
  /** Fires the timers that are due then, before it returns. */
  skip(ms: number): void;
}

/** Sums of times are not exact. */
const roundingMs = 0.001;

interface Waiting {
  readonly at: number;
  readonly run: () => void;
}

export function createSkippingClock(base: Clock): SkippingClock {
  /** In the order in which they were set; equal times fire in this order. */
  const waiting = new Set<Waiting>();
  let aheadMs = 0;
  let armed: { readonly at: number; readonly timer: Timer } | undefined;
  const monotonic = () => base.monotonic() + aheadMs;

  function next(): Waiting | undefined {
    let first: Waiting | undefined;
    for (const one of waiting) if (first === undefined || one.at < first.at) first = one;
    return first;
  }

  function arm(): void {
    const at = next()?.at;
    if (armed?.at === at && armed !== undefined) return;
    armed?.timer.cancel();
    armed = undefined;
    if (at === undefined) return;
    armed = { at, timer: base.setTimer(Math.max(0, at - monotonic()), fire) };
  }

  /** Those that are due now; what they set in turn is for the next time. */
  function fire(): void {
    armed?.timer.cancel();
    armed = undefined;
    const isDue = ({ at }: Waiting) => at - monotonic() < roundingMs;
    const due = [...waiting].filter(isDue).sort((a, b) => a.at - b.at);
    for (const one of due) if (waiting.delete(one)) one.run();
    arm();
  }

  return {
    now: () => base.now() + aheadMs,
    monotonic,
    uptime: () => base.uptime() + aheadMs,
    setTimer(ms, run) {
      const one = { at: monotonic() + Math.max(0, ms), run };
      waiting.add(one);
      arm();
      return {
        cancel() {
          waiting.delete(one);
        },
      };
    },
    get aheadMs() {
      return aheadMs;
    },
    nextInMs() {
      const at = next()?.at;
      return at === undefined ? undefined : Math.max(0, at - monotonic());
    },
    skip(ms) {
      aheadMs += ms;
      fire();
    },
  };
}
