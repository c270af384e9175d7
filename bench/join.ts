import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../common/process/clock.ts';
import { seededRandom } from '../common/process/random.ts';
import { names } from '../common/well-known.ts';
import { startCloud } from '../test/kit/cloud/start-cloud.ts';
import { createKubeRest, type KubeRest } from '../test/kit/world/kube-rest.ts';
import { createNodes, measureBarePatches } from './bare-patches.ts';
import { createFleet } from './fleet.ts';
import { cpuSecondsOf, memoryOf } from './process-figures.ts';
import { type ShippedController, startShippedController } from './shipped-controller.ts';
import type { BenchApi } from './start-bench-api.ts';

/**
 * Which replica sees the nodes uninitialized: a leader that starts (`at-start`), one that leads while they are created
 * (`created`), or one without a cloud credential, which learns of each instance from its agent (`reports`).
 */
export const joinWays = ['at-start', 'created', 'reports'] as const;
export type JoinWay = (typeof joinWays)[number];

export interface JoinOptions {
  readonly way: JoinWay;
  readonly nodes: number;
  /** Of every call of the cloud. */
  readonly latencyMs: number;
}

/** One round: on the same API server the bare calls, then the controller's. */
export interface JoinResult {
  /**
   * The two patches of a node, sent without the controller; together with the Nodes created, or with the reports of as
   * many agents.
   */
  readonly bareMs: number;
  /** To the last taint gone: from leading, from the first Node created, or from the first report. */
  readonly joinMs: number;
  /** To the first one gone: before it lie the list of Nodes and the first lookup. */
  readonly firstMs: number;
  readonly cloudCalls: number;
  /** Processor time of the controller: of the whole process at-start, otherwise of the joins alone. */
  readonly cpuSeconds: number;
  readonly peakMiB: number;
}

export const joinBudget = { ratio: 1.25, cloudCalls: 10, cpuSecondsPerThousand: 1.2 };
const sockets = 32;

export async function measureJoin(api: BenchApi['api'], dist: string, options: JoinOptions): Promise<JoinResult> {
  const { way, nodes, latencyMs } = options;
  const rest = createKubeRest(api);
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  const cloud = await startCloud({ clock: systemClock(), random: seededRandom(1) });
  let controller: ShippedController | undefined;
  const fleet = createFleet(rest, cloud, nodes);
  try {
    const bare = await measureBarePatches(api, nodes, { client: 'node:https', sockets, answer: 'metadata' });
    if (latencyMs > 0) cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: latencyMs } });
    const start = async () => {
      controller = await startShippedController(dist, { api, cloud, credentials: way !== 'reports', folder });
      return controller;
    };
    const finish = async (leader: ShippedController, sinceMs: number, bareMs: number, cpuBefore: number) => {
      const done = await leader.logged('node initialised', nodes, 180_000);
      return {
        bareMs,
        joinMs: Math.max(...done) - sinceMs,
        firstMs: Math.min(...done) - sinceMs,
        cloudCalls: cloud.calls.total(),
        cpuSeconds: (await cpuSecondsOf(leader.pid)) - cpuBefore,
        peakMiB: (await memoryOf(leader.pid)).peakMiB,
      };
    };

    if (way === 'at-start') {
      await fleet.register();
      const leader = await start();
      const [ledAt] = await leader.logged('leading', 1, 60_000);
      return await finish(leader, ledAt!, bare.wallMs, 0);
    }
    const leader = await start();
    await leader.logged('leading', 1, 60_000);
    await leader.logged('accepting reports', 1, 60_000);
    await sleep(2000);
    const cpuBefore = await cpuSecondsOf(leader.pid);
    if (way === 'created') {
      const since = Date.now();
      await createNodes(api, fleet.machines, sockets);
      return await finish(leader, since, bare.createMs + bare.wallMs, cpuBefore);
    }
    await fleet.register();
    await fleet.prepareAgents();
    const to = { port: leader.reportPort, ca: await reportCa(rest) };
    const since = Date.now();
    await fleet.report(to, Number.POSITIVE_INFINITY);
    const joined = await finish(leader, since, 0, cpuBefore);
    await sleep(3000);
    const again = performance.now();
    await fleet.report(to, Number.POSITIVE_INFINITY);
    return { ...joined, bareMs: bare.wallMs + (performance.now() - again) };
  } finally {
    await controller?.stop();
    await fleet.remove();
    await cloud.stop();
    rest.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** What agents verify the report API by. */
export async function reportCa(rest: KubeRest): Promise<string> {
  const { data } = await rest.must('GET', `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`);
  return data[names.caKey];
}
