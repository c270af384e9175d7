import { type Clock, systemClock } from '../../../common/process/clock.ts';

/** A clock for a client whose calls go to a real server. */
export interface HurriedClock extends Clock {
  /** Moves time forward, and lets what waits go on. */
  pass(ms: number): Promise<void>;
}

/** Longer than most waits between two tries, and shorter than the limits of calls in the suites that use it. */
const longestWaitMs = 4000;

/**
 * The machine's time, in which short waits pass at once: those of a rate limit, between polls and before another try.
 * They end in the order in which they began. What limits a call waits for the server as ever.
 */
export function hurriedClock(): HurriedClock {
  const system = systemClock();
  let passedMs = 0;
  const monotonic = () => system.monotonic() + passedMs;
  const passUntil = (at: number) => {
    passedMs += Math.max(0, at - monotonic());
  };
  return {
    monotonic,
    now: () => system.now() + passedMs,
    uptime: () => system.uptime() + passedMs,
    setTimer(ms, run) {
      if (ms > longestWaitMs) return system.setTimer(ms, run);
      const at = monotonic() + ms;
      return system.setTimer(0, () => {
        passUntil(at);
        run();
      });
    },
    pass(ms) {
      passedMs += ms;
      return new Promise((resolve) => void system.setTimer(1, resolve));
    },
  };
}
