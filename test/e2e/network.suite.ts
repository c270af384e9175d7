import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { assertThat, type Scenario, until } from '../kit/world/scenario.ts';
import { createService, ensured, loadBalancerServices, mutatingCalls, mutationsSince } from '../kit/world/services.ts';
import { controllerMain, shortened } from '../kit/world/shortened.ts';
import type { World } from '../kit/world/world.ts';
import { inWorld } from './in-world.ts';
import { manyServices } from './many-services.suite.ts';
import { routeLife } from './route-life.suite.ts';
import { serviceKinds } from './service-kinds.suite.ts';
import { serviceLife } from './service-life.suite.ts';

const execute = promisify(execFile);
const nodes = 3;

/** Every node that a scenario registers. */
export const networkNodeNames: readonly string[] = [
  ...Array.from({ length: nodes }, (_, index) => `node-000${index + 1}`),
  'routed-1',
];

async function command(world: World, words: readonly string[]): Promise<{ code: number; stdout: string }> {
  const args = [
    ...words,
    '--cloud-provider=simulated',
    `--cloud-config=${world.folder}/cloud.yaml`,
    `--kubeconfig=${world.kubeconfig}`,
  ];
  try {
    const { stdout } = await execute(process.execPath, [controllerMain, ...args]);
    return { code: 0, stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: number; stdout?: string; stderr?: string };
    if (typeof code !== 'number') throw error;
    return { code, stdout: `${stdout ?? ''}${stderr ?? ''}` };
  }
}

const planned: Scenario = {
  name: 'plan',
  title: 'plan prints what a run would do and does nothing of it; with all in place it has nothing to print',
  async run(world) {
    const plan = ['plan', '--exit-code', `--cluster-cidr=${shortened.clusterCidr}`];
    await createService(world, { name: 'planned' });
    await ensured(world, 'planned');
    const idle = await command(world, plan);
    assertThat(idle.code === 0, `with all in place it ended with ${idle.code}: ${idle.stdout}`);
    await Promise.all(world.replicas.map(({ child }) => child.stop()));
    await createService(world, { name: 'to-be-made' });
    const before = mutatingCalls(world);
    const busy = await command(world, plan);
    assertThat(busy.code === 3, `with something to do it ended with ${busy.code}: ${busy.stdout}`);
    assertThat(busy.stdout.includes('to-be-made'), busy.stdout);
    assertThat(mutationsSince(world, before) === '', 'it changed something');
    for (const replica of world.replicas) replica.start();
    await ensured(world, 'to-be-made', 40_000);
    return busy.stdout.split('\n').find((line) => line.includes('to-be-made')) ?? '';
  },
};

const tornDown: Scenario = {
  name: 'teardown',
  title: 'teardown empties the cloud of what this cluster has there, and of nothing else',
  async run(world) {
    const { model, network } = world.cloud;
    const place = [...model.places.keys()][0] ?? '';
    const foreign = network.addresses.reserve(place, { family: 'IPv4', scheme: 'external', tags: {} }).address;
    await Promise.all(world.replicas.map(({ child }) => child.stop()));
    assertThat((await loadBalancerServices(world)).length === 2, 'the Services of the scenario before are not there');
    const refused = await command(world, ['teardown', '--yes']);
    assertThat(refused.code !== 0, 'with Services it did not refuse');
    const { routes } = network;
    const before = routes.store.all().length;
    const kept = await command(world, ['teardown', '--yes', '--force', '--configure-cloud-routes=false']);
    assertThat(kept.code === 0, `without routes it ended with ${kept.code}: ${kept.stdout}`);
    assertThat(before > 0 && routes.store.all().length === before, 'it deleted routes all the same');
    const done = await command(world, ['teardown', '--yes', '--force']);
    assertThat(done.code === 0, `it ended with ${done.code}: ${done.stdout}`);
    await until('nothing of ours is left', 10_000, async () => {
      const { loadBalancers, addresses } = network;
      return loadBalancers.store.all().length + addresses.store.all().length + routes.store.all().length === 1;
    });
    assertThat(network.addresses.store.get(foreign.id), 'a foreign address was released');
    return done.stdout.trim().split('\n').at(-1) ?? '';
  },
};

/** Load balancers and routes with the shipped programs as processes, on any API server. Leaves nothing in the cloud. */
export function networkSuite(services: number): ApiSuite {
  return {
    name: 'network',
    async run(api, check) {
      const life: readonly Scenario[] = [...routeLife, ...serviceLife, ...serviceKinds];
      await inWorld({ api, nodes, agentProcesses: 0 }, check, async (world, prove) => {
        for (const scenario of [...life, manyServices(services), planned, tornDown])
          await prove(scenario.title, async () => {
            const seen = await scenario.run(world);
            if (process.env['MOORING_SHOW']) process.stderr.write(`${scenario.name}: ${seen}\n`);
          });
      });
    },
  };
}
