import type { Clock, Timer } from '../../../common/process/clock.ts';
import { timerHeap } from './timer-heap.ts';

/**
 * How a process stops without ending. `stopped`: it gets no processor, all its clocks go on (SIGSTOP). `suspended`: its
 * machine sleeps, and the monotonic clock stands still. `frozen`: the hypervisor holds its machine; only the wall clock
 * is right afterwards.
 */
export type PauseKind = 'stopped' | 'suspended' | 'frozen';

/** What one process sees of time. Its timers run at its own rate; while it is paused or dead nothing of it runs. */
export interface ProcessClock extends Clock {
  /**
   * Delivers an outside event to the process after `ms` of the world's time; a paused process gets it later, a dead one
   * never.
   */
  deliver(ms: number, run: () => void): void;
  pause(kind: PauseKind): void;
  resume(): void;
  /** Ends the process: no timer fires and nothing is delivered any more. */
  kill(): void;
  stepWall(ms: number): void;
  readonly wallOffsetMs: number;
  readonly paused: PauseKind | undefined;
  readonly dead: boolean;
}

/** The world's time, and the clocks of the processes in it. Stands still until stepped. */
export interface Timeline {
  /** The true time: of the API server, the cloud, the kubelets. */
  readonly clock: Clock;
  /** @param rate how much faster than the world's its steady clocks run */
  process(rate: number): ProcessClock;
  /**
   * Fires the next timer due by `untilMs` and runs all that follows without delay. False when there is none: then it is
   * `untilMs`.
   */
  step(untilMs: number): Promise<boolean>;
  /** Time passes at once: what was due meanwhile is due now. */
  leap(ms: number): void;
  /** Called before a timer of a process fires; true = it does not. */
  onTimer: ((clock: ProcessClock) => boolean) | undefined;
}

interface Source {
  nextAt(): number | undefined;
  fire(): void;
}

/**
 * Times are multiples of 1/1024 ms, whose sums are exact: else a timer could be due a billionth of a millisecond before
 * its moment, forever.
 */
const grid = 1024;
const down = (ms: number) => Math.floor(ms * grid) / grid;
const up = (ms: number) => Math.ceil(ms * grid) / grid;
const startMs = Date.parse('2026-01-01T00:00:00Z');

export function createTimeline(): Timeline {
  let now = 0;
  const sources: Source[] = [];

  const world = timerHeap();
  sources.push({ nextAt: () => world.nextAt, fire: () => world.take()?.run() });
  const clock: Clock = {
    now: () => startMs + down(now),
    monotonic: () => down(now),
    uptime: () => down(now),
    setTimer: (ms, run): Timer => ({ cancel: world.add(up(now + Math.max(0, ms)), run) }),
  };

  const leap = (ms: number) => {
    now += ms;
  };
  const timeline: Timeline = { clock, process: create, step, leap, onTimer: undefined };
  return timeline;

  function create(rate: number): ProcessClock {
    const timers = timerHeap();
    const held: (() => void)[] = [];
    /** Where the steady clocks were when they last began to run. */
    let base = { world: now, monotonic: 1000 * rate, uptime: 5000 };
    /** A clock never goes back by rounding. */
    let floor = 0;
    let wallOffsetMs = 0;
    let pausedAs: PauseKind | undefined;
    let dead = false;

    const passed = () => (now - base.world) * rate;
    function monotonic(): number {
      const local = base.monotonic + (pausedAs === 'suspended' || pausedAs === 'frozen' ? 0 : passed());
      floor = Math.max(floor, down(local));
      return floor;
    }
    const uptime = () => down(base.uptime + (pausedAs === 'frozen' ? 0 : passed()));

    const source: Source = {
      nextAt() {
        if (dead || pausedAs !== undefined) return undefined;
        const local = timers.nextAt;
        return local === undefined ? undefined : Math.max(now, base.world + (local - base.monotonic) / rate);
      },
      fire() {
        const timer = timers.take();
        if (timer === undefined) return;
        floor = Math.max(floor, timer.at);
        if (timeline.onTimer?.(self) !== true) timer.run();
      },
    };
    sources.push(source);

    const self: ProcessClock = {
      now: () => startMs + down(now) + wallOffsetMs,
      monotonic,
      uptime,
      setTimer: (ms, run): Timer => ({ cancel: timers.add(up(monotonic() + Math.max(0, ms)), run) }),
      deliver(ms, run) {
        world.add(up(now + Math.max(0, ms)), () => {
          if (dead) return;
          if (pausedAs === undefined) run();
          else held.push(run);
        });
      },
      pause(kind) {
        if (pausedAs !== undefined) return;
        base = { world: now, monotonic: monotonic(), uptime: uptime() };
        pausedAs = kind;
      },
      resume() {
        if (pausedAs === undefined) return;
        base = { world: now, monotonic: monotonic(), uptime: uptime() };
        pausedAs = undefined;
        for (const run of held.splice(0)) self.deliver(0, run);
      },
      kill() {
        dead = true;
        timers.clear();
        held.length = 0;
        sources.splice(sources.indexOf(source), 1);
      },
      stepWall(ms) {
        wallOffsetMs += ms;
      },
      get wallOffsetMs() {
        return wallOffsetMs;
      },
      get paused() {
        return pausedAs;
      },
      get dead() {
        return dead;
      },
    };
    return self;
  }

  async function step(untilMs: number): Promise<boolean> {
    let first: Source | undefined;
    let at = Number.POSITIVE_INFINITY;
    for (const source of sources) {
      const next = source.nextAt();
      if (next !== undefined && next < at) [first, at] = [source, next];
    }
    if (first === undefined || at > untilMs) {
      now = Math.max(now, untilMs);
      return false;
    }
    now = Math.max(now, at);
    first.fire();
    // Nothing in here waits for a socket or a disk: when the event loop comes round, every promise that can settle has.
    await new Promise((resolve) => setImmediate(resolve));
    return true;
  }
}
