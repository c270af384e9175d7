import { audited, restart } from '../kit/world/controllers.ts';
import { assertThat, type Scenario, seconds, until } from '../kit/world/scenario.ts';
import {
  balancerCondition,
  createService,
  deleteService,
  loadBalancerServices,
  mutatingCalls,
  mutationsSince,
} from '../kit/world/services.ts';
import type { World } from '../kit/world/world.ts';

const width = 16;

async function inTurns(names: readonly string[], task: (name: string) => Promise<void>): Promise<void> {
  const left = [...names];
  const worker = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) await task(name);
  };
  await Promise.all(Array.from({ length: width }, worker));
}

async function countReady(world: World): Promise<number> {
  return (await loadBalancerServices(world)).filter((service) => balancerCondition(service)?.status === 'True').length;
}

function callsIn(world: World): number {
  return [...mutatingCalls(world).values()].reduce((sum, count) => sum + count, 0);
}

/** So many Services at once, from nothing to ready, through a restart, and away again. */
export function manyServices(count: number): Scenario {
  return {
    name: 'many',
    title: `${count} Services get ready, a restart changes nothing, and all go again without a trace`,
    async run(world) {
      const names = Array.from({ length: count }, (_, index) => `many-${index + 1}`);
      const callsBefore = callsIn(world);
      const startedMs = Date.now();
      await inTurns(names, async (name) => void (await createService(world, { name })));
      let ready = 0;
      await until(
        'all are ready',
        120_000,
        async () => {
          ready = await countReady(world);
          return ready === count;
        },
        () => `${ready} are`,
      );
      const readyAfter = seconds(startedMs);
      const calls = callsIn(world) - callsBefore;
      const { loadBalancers, addresses } = world.cloud.network;
      assertThat(loadBalancers.store.all().length === count, `${loadBalancers.store.all().length} load balancers`);
      const before = mutatingCalls(world);
      await audited(world, await restart(world), 2);
      assertThat(mutationsSince(world, before) === '', `after the restart: ${mutationsSince(world, before)}`);
      const awayMs = Date.now();
      await inTurns(names, (name) => deleteService(world, name));
      await until('all are gone', 120_000, async () => (await loadBalancerServices(world)).length === 0);
      const goneAfter = seconds(awayMs);
      const left = [...loadBalancers.store.all(), ...addresses.store.all()];
      assertThat(left.length === 0, `left in the cloud: ${left.map(({ id }) => id).join(', ')}`);
      return (
        `ready after ${readyAfter} with ${(calls / count).toFixed(1)} mutating calls each; 0 after a restart; ` +
        `gone after ${goneAfter}`
      );
    },
  };
}
