import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../common/process/clock.ts';
import { seededRandom } from '../common/process/random.ts';
import { nextReportSeconds } from '../controller/reports/report-interval.ts';
import { startCloud } from '../test/kit/cloud/start-cloud.ts';
import { createKubeRest } from '../test/kit/world/kube-rest.ts';
import { createFleet } from './fleet.ts';
import { reportCa } from './join.ts';
import { cpuSecondsOf, memoryOf } from './process-figures.ts';
import { type ShippedController, startShippedController } from './shipped-controller.ts';
import type { BenchApi } from './start-bench-api.ts';

export interface IdleOptions {
  readonly nodes: number;
  /** How long is counted, after every agent has reported once. */
  readonly minutes: number;
}

export interface IdleResult {
  /** For instances; those for load balancers and routes. */
  readonly cloudCallsPerHour: readonly [number, number];
  readonly apiRequestsPerMinute: number;
  /** By verb and resource, a minute; most first. */
  readonly apiRequests: readonly { readonly what: string; readonly perMinute: number }[];
  /** Of one core. */
  readonly cpuShare: number;
  readonly rssMiB: number;
  readonly peakMiB: number;
}

export const idleBudget = { cloudCallsPerHour: [60, 60] as const, apiRequestsPerMinute: 600, cpuShare: 0.01 };

/**
 * Cost of a leader while nothing changes, in real time with real periods: kubelets patch their status every five
 * minutes, and agents report as often as the controller tells them.
 */
export async function measureIdle(
  { api, requests }: BenchApi,
  dist: string,
  { nodes, minutes }: IdleOptions,
): Promise<IdleResult> {
  if (requests === undefined) throw new Error('the idle bench needs a server that counts: --api embedded');
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  const rest = createKubeRest(api);
  const cloud = await startCloud({ clock: systemClock(), random: seededRandom(1) });
  const fleet = createFleet(rest, cloud, nodes);
  let leader: ShippedController | undefined;
  try {
    await fleet.register();
    leader = await startShippedController(dist, { api, cloud, credentials: true, folder });
    await leader.logged('node initialised', nodes, 600_000);
    await fleet.prepareAgents();
    const to = { port: leader.reportPort, ca: await reportCa(rest) };
    const perSecond = nodes / nextReportSeconds(nodes);
    const stop = new AbortController();
    const heartbeats = fleet.heartbeats(nodes / 300, stop.signal);
    await fleet.report(to, perSecond);
    const reporting = (async () => {
      while (!stop.signal.aborted) await fleet.report(to, perSecond, stop.signal);
    })();
    const count = async () => ({
      at: performance.now(),
      cpu: await cpuSecondsOf(leader!.pid),
      lookups: cloud.calls.total('instances.lookup'),
      cloud: cloud.calls.total(),
      api: new Map((await requests()).map(({ verb, resource, count }) => [`${verb} ${resource}`, count])),
    });
    const before = await count();
    await sleep(minutes * 60_000);
    const after = await count();
    const memory = await memoryOf(leader.pid);
    stop.abort();
    await Promise.all([heartbeats, reporting]);
    const passed = (after.at - before.at) / 60_000;
    const lookups = after.lookups - before.lookups;
    const apiRequests = [...after.api]
      .map(([what, total]) => ({ what, perMinute: (total - (before.api.get(what) ?? 0)) / passed }))
      .filter(({ perMinute }) => perMinute > 0)
      .sort((a, b) => b.perMinute - a.perMinute);
    return {
      cloudCallsPerHour: [(lookups / passed) * 60, ((after.cloud - before.cloud - lookups) / passed) * 60],
      apiRequestsPerMinute: apiRequests.reduce((sum, { perMinute }) => sum + perMinute, 0),
      apiRequests,
      cpuShare: (after.cpu - before.cpu) / (passed * 60),
      rssMiB: memory.rssMiB,
      peakMiB: memory.peakMiB,
    };
  } finally {
    await leader?.stop();
    await fleet.remove();
    await cloud.stop();
    rest.close();
    await rm(folder, { recursive: true, force: true });
  }
}
