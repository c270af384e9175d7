import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../common/process/clock.ts';
import { seededRandom } from '../common/process/random.ts';
import { openAlibabaLife } from '../test/clouds/alibaba/life-cloud.ts';
import { openAwsLife } from '../test/clouds/aws/life-cloud.ts';
import { openAzureLife } from '../test/clouds/azure/life-cloud.ts';
import { openCloudStackLife } from '../test/clouds/cloudstack/life-cloud.ts';
import { openGceLife } from '../test/clouds/gce/life-cloud.ts';
import { openHetznerLife } from '../test/clouds/hetzner/life-cloud.ts';
import { openHuaweiLife } from '../test/clouds/huawei/life-cloud.ts';
import type { LifeCloud, OpenLifeCloud } from '../test/clouds/life/life-cloud.ts';
import { openLifeStage } from '../test/clouds/life/life-stage.ts';
import { createStep } from '../test/clouds/life/service-steps.ts';
import { openOvirtLife } from '../test/clouds/ovirt/life-cloud.ts';
import { startCloud } from '../test/kit/cloud/start-cloud.ts';
import { conditionOf } from '../test/kit/world/scenario.ts';
import { type MemoryFigures, medianMemory, memoryOf } from './process-figures.ts';
import { nodeFlags } from './shipped-controller.ts';

/** What a controller with one cloud may have above one with the simulated cloud, MiB of its own memory. */
export const cloudMemoryBudgetMiB = 10;

const clouds: Readonly<Record<string, OpenLifeCloud>> = {
  simulated: openSimulatedLife,
  alibaba: openAlibabaLife,
  aws: openAwsLife,
  azure: openAzureLife,
  cloudstack: openCloudStackLife,
  gce: openGceLife,
  hetzner: openHetznerLife,
  huaweicloud: openHuaweiLife,
  ovirt: openOvirtLife,
};

/**
 * Leaders of three nodes with routes and Services (`simulated`: without Services, `cloudstack`: without routes,
 * `ovirt`: without both), each on one cloud, one after the other and round after round; medians.
 */
export async function measureCloudMemory(
  dist: string,
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<ReadonlyMap<string, MemoryFigures>> {
  const names = Object.keys(clouds);
  const figures = new Map<string, MemoryFigures[]>(names.map((name) => [name, []]));
  const program = [...(await nodeFlags()), join(dist, 'controller.cjs')];
  for (let round = 0; round < rounds; round += 1)
    for (const name of round % 2 === 0 ? names : names.toReversed())
      figures.get(name)?.push(await memoryWith(clouds[name]!, program, seconds));
  return new Map([...figures].map(([name, all]) => [name, medianMemory(all)]));
}

async function memoryWith(open: OpenLifeCloud, program: readonly string[], seconds: number): Promise<MemoryFigures> {
  const stage = await openLifeStage([open], { program, flags: [] });
  try {
    for (const { node } of stage.machines)
      await stage.wait(`${node} is a node`, async () => {
        const seen = await stage.nodeNamed(node);
        const isRouted = stage.clouds.every(({ routes }) => routes() !== undefined);
        return isRouted ? conditionOf(seen, 'NetworkUnavailable')?.status === 'False' : seen?.spec.providerID;
      });
    await createStep.run(stage);
    await sleep(seconds * 1000);
    return await memoryOf(stage.controller.pid!);
  } finally {
    await stage.close();
  }
}

async function openSimulatedLife(): Promise<LifeCloud> {
  const cloud = await startCloud({ clock: systemClock(), random: seededRandom(1) });
  const [place] = cloud.model.places.values();
  const vms = ['simulated-1', 'simulated-2', 'simulated-3'].map((name) => cloud.model.create({ name }));
  const { routes } = cloud.network;
  const config = { endpoint: cloud.url, project: place!.project, region: place!.region, credential: cloud.credential };
  return {
    served: { cloud: 'simulated', configText: JSON.stringify(config), env: {} },
    machines: vms.map(({ id, name, region }) => ({
      node: name,
      providerID: `simulated://${region}/${id}`,
      labels: {},
      readdress: (address) => void cloud.model.setAddresses(id, { interfaces: [{ external: [address] }] }),
      stop: () => void cloud.model.stop(id),
      remove: () => void cloud.model.terminate(id),
    })),
    changes: () => 0,
    audits: () => cloud.calls.total(),
    routes: () =>
      routes.store.all().map((route) => `${route.destination} ${vms.find(({ id }) => id === route.instanceId)?.name}`),
    checks: [],
    refuse: () => {},
    secrets: [cloud.credential],
    close: () => cloud.stop(),
  };
}
