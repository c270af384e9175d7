import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { type FakeClock, fakeClock } from '../common/testing/fake-clock.ts';

/** Time that passes as fast as the work in it allows, for programs that speak over real sockets within this process. */
export interface SimulatedTime {
  readonly clock: FakeClock;
  /** Lets so much time pass; before each timer fires, everything that was sent has been answered. */
  pass(ms: number): Promise<void>;
}

/** Turns of the event loop without any traffic, after which nothing is under way between two sockets of one process. */
const quietTurns = 12;

/** @param traffic grows with every request and every answer */
export function simulatedTime(traffic: () => number): SimulatedTime {
  // Certificates are checked by the machine's own time.
  const clock = fakeClock(Date.now(), 1);

  async function answered(): Promise<void> {
    for (let turn = 0, before = traffic(); turn < quietTurns; turn += 1) {
      await setImmediate();
      const now = traffic();
      if (now !== before) turn = -1;
      before = now;
    }
    await sleep(1);
  }

  return {
    clock,
    async pass(ms) {
      const until = clock.monotonic() + ms;
      for (;;) {
        for (let before = -1; before !== traffic(); ) {
          before = traffic();
          await answered();
        }
        const next = clock.nextAt;
        if (next === undefined || next > until) break;
        await clock.advance(next - clock.monotonic());
      }
      await clock.advance(Math.max(0, until - clock.monotonic()));
    },
  };
}
