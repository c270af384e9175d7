import type { Clock, Timer } from '../../../common/process/clock.ts';
import type { FakeClock } from '../../../common/testing/fake-clock.ts';

/**
 * The clocks of one machine in a world of several: at its own rate, with a wall clock of its own, and stopped now and
 * then.
 */
export interface ReplicaClock extends Clock {
  readonly stopped: boolean;
  /**
   * Nothing of this process runs until `resume`: SIGSTOP (its clocks go on), the sleep of the machine (the monotonic
   * clock stands still), or a hold by the hypervisor (uptime stands still, too).
   */
  stop(how: 'pause' | 'sleep' | 'hold'): void;
  resume(): void;
  stepWall(ms: number): void;
}

export function replicaClock(world: FakeClock, { rate = 1, wallOffsetMs = 0 } = {}): ReplicaClock {
  let offset = wallOffsetMs;
  let slept = 0;
  let sleptFrom: number | undefined;
  let held = 0;
  let heldFrom: number | undefined;
  let stopped = false;
  let late: (() => void)[] = [];
  const own = () => world.monotonic() * rate;
  return {
    now: () => world.now() + own() - world.monotonic() + offset,
    monotonic: () => (sleptFrom ?? own()) - slept,
    uptime: () => (heldFrom ?? own()) - held,
    setTimer(ms, run): Timer {
      let cancelled = false;
      const dueAt = own() - held + ms;
      let timer = world.setTimer(ms / rate, fire);
      function fire(): void {
        if (cancelled) return;
        if (stopped) return void late.push(fire);
        // What the hypervisor held has this much of its time still before it.
        const left = dueAt - (own() - held);
        if (left > 0.001) timer = world.setTimer(left / rate, fire);
        else run();
      }
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
      if (how !== 'pause') sleptFrom = own();
      if (how === 'hold') heldFrom = own();
    },
    resume() {
      if (!stopped) return;
      stopped = false;
      if (sleptFrom !== undefined) slept += own() - sleptFrom;
      if (heldFrom !== undefined) held += own() - heldFrom;
      sleptFrom = undefined;
      heldFrom = undefined;
      const due = late;
      late = [];
      for (const run of due) run();
    },
    stepWall(ms) {
      offset += ms;
    },
  };
}
