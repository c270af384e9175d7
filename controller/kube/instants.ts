import type { Clock } from '../../common/process/clock.ts';

/** One moment, on each of our clocks. */
export interface Instants {
  readonly monotonic: number;
  readonly uptime: number;
  readonly wall: number;
}

export function instantsOf(clock: Clock): Instants {
  return { monotonic: clock.monotonic(), uptime: clock.uptime(), wall: clock.now() };
}

/**
 * How long ago `since` was, by the clock that says longest. `steady` leaves out the wall clock, which may jump; `any` takes it too: it is the only one that
 * tells of a stop that the other two slept through.
 */
export function elapsedMs(clock: Clock, since: Instants, which: 'steady' | 'any'): number {
  const steady = Math.max(clock.monotonic() - since.monotonic, clock.uptime() - since.uptime);
  return which === 'steady' ? steady : Math.max(steady, clock.now() - since.wall);
}
