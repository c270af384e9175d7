import type { Clock, Timer } from '../../../common/process/clock.ts';
import type { FakeClock } from '../../../common/testing/fake-clock.ts';

/** The clocks of one machine in a world of several: at its own rate, with a wall clock of its own, and stopped now and then. */
export interface ReplicaClock extends Clock {
  readonly stopped: boolean;
  /** Nothing of this process runs until `resume`: SIGSTOP (its clocks go on) or the sleep of the machine (the monotonic clock stands still). */
  stop(how: 'pause' | 'sleep'): void;
  resume(): void;
  stepWall(ms: number): void;
}

export function replicaClock(world: FakeClock, { rate = 1, wallOffsetMs = 0 } = {}): ReplicaClock {
  let offset = wallOffsetMs;
  let slept = 0;
  let sleptFrom: number | undefined;
  let stopped = false;
  let late: (() => void)[] = [];
  const own = () => world.monotonic() * rate;
  return {
    now: () => world.now() + own() - world.monotonic() + offset,
    monotonic: () => (sleptFrom ?? own()) - slept,
    uptime: () => own(),
    setTimer(ms, run): Timer {
      let cancelled = false;
      const timer = world.setTimer(ms / rate, () => {
        if (cancelled) return;
        if (!stopped) return run();
        late.push(() => {
          if (!cancelled) run();
        });
      });
      return {
        cancel() {
          cancelled = true;
          timer.cancel();
        },
      };
    },
    get stopped() {
      return stopped;
    },
    stop(how) {
      if (stopped) return;
      stopped = true;
      if (how === 'sleep') sleptFrom = own();
    },
    resume() {
      if (!stopped) return;
      stopped = false;
      if (sleptFrom !== undefined) slept += own() - sleptFrom;
      sleptFrom = undefined;
      const due = late;
      late = [];
      for (const run of due) run();
    },
    stepWall(ms) {
      offset += ms;
    },
  };
}
