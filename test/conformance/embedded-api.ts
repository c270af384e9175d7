import { writeFile } from 'node:fs/promises';
import { type Clock, systemClock, type Timer } from '../../common/process/clock.ts';
import { startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import type { ApiUnderTest } from './api-under-test.ts';

/** Starts the embedded API server as an ApiUnderTest. */
export async function startEmbeddedApi(): Promise<ApiUnderTest> {
  const clock = leapingClock();
  const server = await startKubeApi({ clock, random: Math.random });
  return {
    kind: server.kind,
    url: server.url,
    caPem: server.caPem,
    adminToken: server.adminToken,
    nodeToken: (name) => server.nodeToken(name),
    kubeconfig: (token) => server.kubeconfig(token),
    writeKubeconfig: (path, token) => writeFile(path, server.kubeconfig(token), { mode: 0o600 }),
    stop: () => server.stop(),
    async expireHistory() {
      server.core.compact();
    },
    passTime: (ms) => clock.leap(ms),
  };
}

/** The machine's time, except that it can leap forward: timers that fall due by that fire at once. */
function leapingClock(): Clock & { leap(ms: number): void } {
  const system = systemClock();
  const waiting = new Set<{ at: number; timer: Timer; fire: () => void }>();
  let leapt = 0;
  return {
    now: () => system.now() + leapt,
    monotonic: () => system.monotonic() + leapt,
    uptime: () => system.uptime() + leapt,
    setTimer(ms, run) {
      const fire = () => {
        entry.timer.cancel();
        waiting.delete(entry);
        run();
      };
      const entry = { at: system.monotonic() + leapt + ms, timer: system.setTimer(ms, fire), fire };
      waiting.add(entry);
      return {
        cancel() {
          entry.timer.cancel();
          waiting.delete(entry);
        },
      };
    },
    leap(ms) {
      leapt += ms;
      const due = [...waiting].filter((entry) => entry.at <= system.monotonic() + leapt);
      for (const entry of due.sort((a, b) => a.at - b.at)) entry.fire();
    },
  };
}
