import { uptime } from 'node:os';
import { performance } from 'node:perf_hooks';

/** A timer that has been set and may be cancelled. Cancelling twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

/**
 * Where all time comes from. Product code takes a Clock and never asks a global, so that tests and the
 * simulation can run it on a time of their own.
 */
export interface Clock {
  /** Wall clock, milliseconds since 1970. May jump. */
  now(): number;
  /** Monotonic milliseconds since an arbitrary start. Stands still while the machine sleeps (CLOCK_MONOTONIC). */
  monotonic(): number;
  /** Milliseconds since boot, sleep included (CLOCK_BOOTTIME), to the resolution the system gives. */
  uptime(): number;
  /** Calls `run` once after `ms`; never synchronously. */
  setTimer(ms: number, run: () => void): Timer;
}

/** The machine's own time. Timers do not keep the process alive by themselves when `unref` is asked for. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    uptime: () => uptime() * 1000,
    setTimer(ms, run) {
      // Node turns delays over 2^31-1 ms into 1 ms.
      const handle = setTimeout(run, Math.min(Math.max(0, ms), 2_147_483_647));
      return { cancel: () => clearTimeout(handle) };
    },
  };
}

/** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimer(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
