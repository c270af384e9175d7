import { type Clock, sleep } from '../../common/process/clock.ts';

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Attempts until one succeeds, after pauses of 2 to 30 s. Undefined when the signal aborts before that.
 *
 * @param onFailure `tries` counts from 1
 */
export async function tryPatiently<T>(
  clock: Clock,
  signal: AbortSignal,
  attempt: () => Promise<T>,
  onFailure: (error: unknown, tries: number) => void,
): Promise<T | undefined> {
  for (let tries = 1; !signal.aborted; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) break;
      onFailure(error, tries);
      await sleep(clock, Math.min(30_000, 1000 * 2 ** Math.min(tries, 10)), signal).catch(() => {});
    }
  }
  return undefined;
}
