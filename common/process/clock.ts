import { uptime } from 'node:os';
import { performance } from 'node:perf_hooks';

/** A timer. Cancelling it twice, or after it fired, has no effect. */
export interface Timer {
  cancel(): void;
}

/**
 * The source of all time. Product code gets a Clock and never uses a global one, so that tests and the simulation can
 * control the time.
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

/** The machine's own time. */
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
