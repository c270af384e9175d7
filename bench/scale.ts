import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../common/process/clock.ts';
import { seededRandom } from '../common/process/random.ts';
import { startCloud } from '../test/kit/cloud/start-cloud.ts';
import { createKubeRest } from '../test/kit/world/kube-rest.ts';
import { type Agents, startAgents } from './agents.ts';
import type { AgentsSeen } from './agents-process.ts';
import { newLeader } from './contender.ts';
import { createFleet } from './fleet.ts';
import { reportCa } from './join.ts';
import { cpuSecondsOf, type MemoryFigures, memoryOf } from './process-figures.ts';
import { type ShippedController, startShippedController } from './shipped-controller.ts';
import type { BenchApi } from './start-bench-api.ts';

export interface ScaleOptions {
  readonly nodes: number;
  /** How long the agents' own pace is looked at. */
  readonly minutes: number;
}

/** One thing that happened to the agents, and what it cost the leader. */
export interface ScaleMoment {
  readonly what: string;
  /** Until half, 99 % and all of them were accepted; undefined where that was not waited for. */
  readonly accepted: { readonly halfMs: number; readonly mostMs: number; readonly allMs: number } | undefined;
  readonly outcomes: AgentsSeen['outcomes'];
  readonly seconds: number;
  readonly leaderCpuSeconds: number;
  /** Of all the agents' processes. */
  readonly agentsCpuSeconds: number;
  /** Of both replicas, where the server counts. */
  readonly apiRequests: number | undefined;
  readonly memory: MemoryFigures;
}

export interface ScaleResult {
  readonly moments: readonly ScaleMoment[];
  /** From the death of the leader to the next one's lease. */
  readonly takeoverMs: number;
}

/**
 * Two replicas, and an agent with its own address for each node. All agents report at once for the first time, then
 * again at once, then at their own pace. The leader dies, and all report at once to the next one, which has heard none
 * of them and takes the nodes from the list of its time as standby.
 */
export async function measureScale(
  { api, requests }: BenchApi,
  dist: string,
  { nodes, minutes }: ScaleOptions,
  progress: (line: string) => void,
): Promise<ScaleResult> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  const rest = createKubeRest(api);
  const cloud = await startCloud({ clock: systemClock(), random: seededRandom(1) });
  const fleet = createFleet(rest, cloud, nodes);
  const replicas: ShippedController[] = [];
  const moments: ScaleMoment[] = [];
  let agents: Agents | undefined;

  async function start(): Promise<ShippedController> {
    const own = await mkdtemp(join(folder, 'replica-'));
    const replica = await startShippedController(dist, { api, cloud, credentials: true, folder: own });
    replicas.push(replica);
    await replica.logged('accepting reports', 1, 60_000);
    return replica;
  }

  async function apiRequests(): Promise<number | undefined> {
    const counts = await requests?.();
    return counts?.reduce((sum, { count }) => sum + count, 0);
  }

  async function moment(
    what: string,
    leader: ShippedController,
    crowd: Agents,
    happen: () => Promise<AgentsSeen>,
  ): Promise<void> {
    progress(what);
    const before = {
      at: performance.now(),
      leader: await cpuSecondsOf(leader.pid),
      agents: await crowd.cpuSeconds(),
      api: await apiRequests(),
    };
    const { firstMs, outcomes } = await happen();
    const seconds = (performance.now() - before.at) / 1000;
    const asked = await apiRequests();
    const at = (share: number) => firstMs[Math.ceil(firstMs.length * share) - 1] ?? 0;
    const all = firstMs.length >= nodes;
    moments.push({
      what,
      accepted: all ? { halfMs: at(0.5), mostMs: at(0.99), allMs: at(1) } : undefined,
      outcomes,
      seconds,
      leaderCpuSeconds: (await cpuSecondsOf(leader.pid)) - before.leader,
      agentsCpuSeconds: (await crowd.cpuSeconds()) - before.agents,
      apiRequests: asked === undefined ? undefined : asked - before.api!,
      memory: await memoryOf(leader.pid),
    });
  }

  const together = (crowd: Agents) => async () => {
    await crowd.mark();
    await crowd.wake();
    return crowd.allAccepted(600_000);
  };

  try {
    progress(`registering ${nodes} nodes`);
    await fleet.register();
    const first = await start();
    const { holder } = await newLeader(rest);
    const second = await start();
    await first.logged('node initialised', nodes, 600_000);
    progress('making their agents');
    const crowd = await startAgents(await fleet.prepareAgents(), {
      ca: await reportCa(rest),
      urls: [first, second].map(({ reportPort }) => `https://127.0.0.1:${reportPort}`),
    });
    agents = crowd;
    await moment('all report at once, each token unknown', first, crowd, together(crowd));
    await sleep(5000);
    await moment('all report at once again, each token known', first, crowd, together(crowd));
    await moment(`${minutes} minutes at their own pace`, first, crowd, async () => {
      await crowd.mark();
      await sleep(minutes * 60_000);
      return crowd.seen();
    });
    const died = Date.now();
    await first.kill();
    const { at } = await newLeader(rest, holder);
    await moment('the leader has died, all report at once to the next one', second, crowd, together(crowd));
    return { moments, takeoverMs: at - died };
  } finally {
    agents?.stop();
    for (const replica of replicas) await replica.stop();
    await fleet.remove();
    await cloud.stop();
    rest.close();
    await rm(folder, { recursive: true, force: true });
  }
}
