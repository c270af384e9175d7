import type { Clock, Timer } from '../process/clock.ts';

interface PendingTimer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that does not move until it is advanced. Timers due at one moment fire in the order they were set. */
export interface FakeClock extends Clock {
  /** Moves time forward, firing what falls due on the way and letting promises settle between timers. */
  advance(ms: number): Promise<void>;
  /** Moves the wall clock alone, as a clock step does; no timer fires. */
  stepWall(ms: number): void;
  /** How many timers are waiting. */
  readonly pending: number;
  /** When the next timer is due, in monotonic milliseconds; undefined when none waits. */
  readonly nextAt: number | undefined;
}

/** Lets every promise that can settle without time or I/O do so. */
export async function settle(rounds = 20): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Moves time in steps until the work is over, not at all if it needs none, and answers as it does. */
export async function advanceDuring<T>(clock: FakeClock, work: Promise<T>, stepMs = 10): Promise<T> {
  let over = false;
  const end = () => {
    over = true;
  };
  work.then(end, end);
  await clock.advance(0);
  while (!over) await clock.advance(stepMs);
  return work;
}

/**
 * @param startMs wall-clock start, milliseconds since 1970
 * @param settleRounds event-loop turns given to promises after each timer; raise it where real sockets are involved
 */
export function fakeClock(startMs = Date.parse('2026-01-01T00:00:00Z'), settleRounds = 4): FakeClock {
  let elapsed = 0;
  let wallOffset = 0;
  let counter = 0;
  const timers = new Set<PendingTimer>();

  function earliest(): PendingTimer | undefined {
    let found: PendingTimer | undefined;
    for (const timer of timers) {
      if (!found || timer.at < found.at || (timer.at === found.at && timer.order < found.order)) found = timer;
    }
    return found;
  }

  return {
    now: () => startMs + wallOffset + elapsed,
    monotonic: () => elapsed,
    uptime: () => elapsed,
    setTimer(ms, run): Timer {
      const timer: PendingTimer = { at: elapsed + Math.max(0, ms), order: counter++, run };
      timers.add(timer);
      return { cancel: () => timers.delete(timer) };
    },
    async advance(ms) {
      const target = elapsed + ms;
      await settle(settleRounds);
      for (let next = earliest(); next && next.at <= target; next = earliest()) {
        timers.delete(next);
        elapsed = next.at;
        next.run();
        await settle(settleRounds);
      }
      elapsed = target;
      await settle(settleRounds);
    },
    stepWall(ms) {
      wallOffset += ms;
    },
    get pending() {
      return timers.size;
    },
    get nextAt() {
      return earliest()?.at;
    },
  };
}
