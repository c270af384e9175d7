import type { Clock } from '../../common/process/clock.ts';

/** One point in time on each of our clocks. */
export interface Instants {
  readonly monotonic: number;
  readonly uptime: number;
  readonly wall: number;
}

export function instantsOf(clock: Clock): Instants {
  return { monotonic: clock.monotonic(), uptime: clock.uptime(), wall: clock.now() };
}

/**
 * The time since `since`, by the clock that shows the longest. `steady` ignores the wall clock, which may jump. `any`
 * includes it: it is the only clock that also runs while the other two stand still.
 */
export function elapsedMs(clock: Clock, since: Instants, which: 'steady' | 'any'): number {
  const steady = Math.max(clock.monotonic() - since.monotonic, clock.uptime() - since.uptime);
  return which === 'steady' ? steady : Math.max(steady, clock.now() - since.wall);
}
