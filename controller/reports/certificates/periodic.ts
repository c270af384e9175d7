import type { Clock, Timer } from '../../../common/process/clock.ts';

export interface PeriodicOptions {
  readonly clock: Clock;
  /** Runs one pass at a time; its success decides when the next one starts. */
  run(): Promise<void>;
  readonly intervalMs: number;
  readonly retryMs: number;
  /** Called for a failure that differs from the last one, and once a minute for a lasting one. */
  onFailure(error: unknown): void;
}

const repeatMs = 60_000;

export interface Periodic {
  /** Starts the first pass now. */
  start(): void;
  /** Starts a pass now, or right after the current one. */
  wake(): void;
  /** Starts no more passes. Resolves when the current one has ended. Safe to repeat. */
  stop(): Promise<void>;
  /** When a pass last ended, successfully or not, in monotonic milliseconds; undefined before the first. */
  readonly lastPassAt: number | undefined;
}

/** Runs a pass periodically. */
export function periodic({ clock, run, intervalMs, retryMs, onFailure }: PeriodicOptions): Periodic {
  let timer: Timer | undefined;
  let underWay: Promise<void> | undefined;
  let again = false;
  let stopped = false;
  let lastPassAt: number | undefined;
  let reported: { readonly message: string; readonly at: number } | undefined;

  function report(error: unknown): void {
    const message = String(error);
    if (reported?.message === message && clock.monotonic() - reported.at < repeatMs) return;
    reported = { message, at: clock.monotonic() };
    onFailure(error);
  }

  async function pass(): Promise<void> {
    let delay = intervalMs;
    try {
      await run();
      reported = undefined;
    } catch (error) {
      delay = retryMs;
      if (!stopped) report(error);
    }
    lastPassAt = clock.monotonic();
    underWay = undefined;
    if (stopped) return;
    if (again) wake();
    else timer = clock.setTimer(delay, wake);
  }

  function wake(): void {
    if (stopped) return;
    again = underWay !== undefined;
    if (underWay) return;
    timer?.cancel();
    underWay = pass();
  }

  return {
    start: wake,
    wake,
    stop() {
      stopped = true;
      timer?.cancel();
      return underWay ?? Promise.resolve();
    },
    get lastPassAt() {
      return lastPassAt;
    },
  };
}
