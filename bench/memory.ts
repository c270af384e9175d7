import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../common/process/clock.ts';
import { seededRandom } from '../common/process/random.ts';
import { startCloud } from '../test/kit/cloud/start-cloud.ts';
import { createKubeRest } from '../test/kit/world/kube-rest.ts';
import { createFleet } from './fleet.ts';
import { reportCa } from './join.ts';
import { type MemoryFigures, memoryOf, slope } from './process-figures.ts';
import { type ShippedController, startShippedController } from './shipped-controller.ts';
import type { BenchApi } from './start-bench-api.ts';

export interface MemoryOptions {
  readonly nodes: number;
  /** How long kubelets and agents go on after everything has settled. */
  readonly soakMinutes: number;
}

/** What happened until then, and the memory after it. */
export interface MemoryMoment extends MemoryFigures {
  readonly after: string;
}

export interface MemoryResult {
  readonly moments: readonly MemoryMoment[];
  /** Of the leader that took reports: its peak less that of one without nodes, per node. */
  readonly peakBytesPerNode: number;
  /** Of the RSS over the second half of the soak. */
  readonly slopeMiBPerMinute: number;
  readonly reports: number;
  readonly heartbeats: number;
}

export const memoryBudgetMiB = 140;
/**
 * A kubelet patches its status every five minutes when nothing changes, and so do the agents of a large fleet: ten
 * times that.
 */
const hurry = 10;

/**
 * Memory of the leader without nodes, when all nodes join at once, and of a second leader with initialised nodes whose
 * agents and kubelets are at work.
 */
export async function measureMemory(
  api: BenchApi['api'],
  dist: string,
  { nodes, soakMinutes }: MemoryOptions,
): Promise<MemoryResult> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  const rest = createKubeRest(api);
  const cloud = await startCloud({ clock: systemClock(), random: seededRandom(1) });
  let controller: ShippedController | undefined;
  const moments: MemoryMoment[] = [];
  const note = async (after: string) => {
    const moment = { after, ...(await memoryOf(controller!.pid)) };
    moments.push(moment);
    return moment;
  };
  const fleet = createFleet(rest, cloud, nodes);
  try {
    const start = async () => {
      await controller?.stop();
      controller = await startShippedController(dist, { api, cloud, credentials: true, folder });
      await controller.logged('leading', 1, 60_000);
      await controller.logged('accepting reports', 1, 60_000);
      return controller;
    };
    await start();
    await sleep(10_000);
    const base = await note('idle without nodes');
    await controller!.stop();

    await fleet.register();
    await (await start()).logged('node initialised', nodes, 600_000);
    await settled(cloud);
    await note(`${nodes} nodes joined at once`);

    await fleet.prepareAgents();
    const leader = await start();
    await settled(cloud);
    await note('next leader: list and first refresh');
    const target = { port: leader.reportPort, ca: await reportCa(rest) };
    const perSecond = (nodes / 300) * hurry;
    let reports = await fleet.report(target, perSecond);
    await note('every agent reported');

    const soak = new AbortController();
    const heartbeats = fleet.heartbeats(perSecond, soak.signal);
    const points: { x: number; y: number }[] = [];
    const until = performance.now() + soakMinutes * 60_000;
    while (performance.now() < until) {
      reports += await fleet.report(target, perSecond);
      points.push({ x: performance.now() / 60_000, y: (await memoryOf(leader.pid)).rssMiB });
      await sleep(1000);
    }
    soak.abort();
    const sent = await heartbeats;
    const end = await note(`${soakMinutes} minutes of heartbeats and reports`);
    const late = points.slice(points.length >> 1);
    return {
      moments,
      peakBytesPerNode: ((end.peakMiB - base.peakMiB) * 2 ** 20) / nodes,
      slopeMiBPerMinute: late.length > 1 ? slope(late) : 0,
      reports,
      heartbeats: sent,
    };
  } finally {
    await controller?.stop();
    await fleet.remove();
    await cloud.stop();
    rest.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Waits until the cloud has not been asked for some seconds, and Events have been written. */
async function settled(cloud: { readonly calls: { total(): number } }): Promise<void> {
  for (let before = -1; before !== cloud.calls.total(); ) {
    before = cloud.calls.total();
    await sleep(8000);
  }
}
