import type { Clock } from './clock.ts';

/** A signal that aborts with the given one, or after this time. Call `cancel` when the work is finished. */
export function abortAfter(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
): { readonly signal: AbortSignal; cancel(): void } {
  const controller = new AbortController();
  const abort = () => controller.abort(signal.reason);
  const timer = clock.setTimer(ms, () => controller.abort(new Error(`gave up after ${ms} ms`)));
  signal.addEventListener('abort', abort, { once: true });
  return {
    signal: controller.signal,
    cancel() {
      timer.cancel();
      signal.removeEventListener('abort', abort);
    },
  };
}
