import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { type KubeApiServer, startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { until } from '../kit/world/scenario.ts';
import { showLogs } from '../kit/world/show-logs.ts';
import { startWorld, type World } from '../kit/world/world.ts';
import { tour } from '../sandbox/tour/scenarios.ts';
import { builtImage } from './harness/built-image.ts';
import { type Containers, createContainers } from './harness/containers.ts';
import { unpackImage } from './harness/unpack-image.ts';

const nodes = 5;
const architecture = process.arch === 'x64' ? 'amd64' : process.arch;

describe('the tour of the sandbox with programs in containers of the images', () => {
  let folder: string;
  let api: KubeApiServer;
  let containers: Containers;
  let world: World;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-containers-'));
    const runtime = {
      program: process.env['CONTAINER_RUNTIME'] ?? '',
      libraries: process.env['CONTAINER_LIBRARIES'] ?? '',
    };
    const unpack = (name: string) => unpackImage(builtImage(name), architecture, join(folder, name));
    const images = { agent: await unpack('mooring-agent'), controller: await unpack('mooring-controller') };
    containers = createContainers(runtime, images, { folder: join(folder, 'run'), visible: tmpdir() });
    api = await startKubeApi({ clock: systemClock(), random: Math.random });
    const start = containers.start;
    world = await startWorld({ api, nodes, cloudLatencyMs: 0, agentProcesses: nodes, startProgram: start, say() {} });
  });
  after(async () => {
    await world?.stop();
    containers?.close();
    await api?.stop();
    for (const each of [folder, world?.folder])
      if (each !== undefined) await rm(each, { recursive: true, force: true });
  });

  it('runs every program in a container', async () => {
    const expected = [...Array(nodes).fill('agent'), 'controller', 'controller'].join(' ');
    const running = () => containers.running().map((id) => id.split('-')[0]);
    await until(expected, 120_000, async () => running().sort().join(' ') === expected);
  });

  for (const stage of tour)
    for (const scenario of stage)
      it(scenario.title, async () => {
        await scenario.run(world).catch(async (error: unknown) => {
          await showLogs(world, process.stderr);
          throw error;
        });
      });
});
