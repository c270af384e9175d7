import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { annotations } from '../../common/well-known.ts';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { inWorld } from '../e2e/in-world.ts';
import { assertThat, conditionOf, eventsOf, nodeNamed, until } from '../kit/world/scenario.ts';
import { controllerMain } from '../kit/world/shortened.ts';
import type { World } from '../kit/world/world.ts';

const run = promisify(execFile);
const missing = 'CloudInstanceMissing';

/** Both controllers end and start again with this credential, as after a roll-out with a wrong Secret. */
async function restartWith(world: World, credential: string): Promise<void> {
  await Promise.all(world.replicas.map(({ child }) => child.stop()));
  await writeFile(join(world.folder, 'credential'), credential, { mode: 0o600 });
  for (const replica of world.replicas) replica.start();
}

async function nodeNames(world: World): Promise<string[]> {
  const { items } = await world.rest.must('GET', '/api/v1/nodes');
  return items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
}

async function explain(world: World, name: string): Promise<{ reason: string; why: string; remedy: string }> {
  const args = [controllerMain, 'explain', 'node', name, '-o', 'json', `--kubeconfig=${world.kubeconfig}`];
  return JSON.parse((await run(process.execPath, args)).stdout);
}

/** The controllers get the credential of another project while no kubelet and no agent is heard. */
export const wrongProjectSuite: ApiSuite = {
  name: 'wrong-project',
  run: (api, suiteCheck) =>
    inWorld({ api, nodes: 4, agentProcesses: 0 }, suiteCheck, async (world, check) => {
      const names = world.vms.map(({ name }) => name);
      const shown = async (name: string) => conditionOf(await nodeNamed(world, name), missing);
      await until('every Node is initialised', 40_000, async () => {
        const nodes = await Promise.all(names.map((name) => nodeNamed(world, name)));
        return nodes.every((node) => conditionOf(node, 'CloudInitialized')?.status === 'True');
      });
      for (const name of names) await world.powerLoss(name);
      world.cloud.credentials.set('of-another-project', 'another-project');
      await restartWith(world, 'of-another-project');

      await check('every Node says that nothing of its scope is found, and why it is kept', () =>
        until('CanaryNotFound on every Node', 40_000, async () => {
          const conditions = await Promise.all(names.map(shown));
          return conditions.every((each) => each?.status === 'True' && each.reason === 'CanaryNotFound');
        }).then(() => {}),
      );
      await check('no Node goes, though every kubelet has been silent for longer than its lease lasts', async () => {
        await sleep(20_000);
        assertThat((await nodeNames(world)).length === names.length, `left: ${await nodeNames(world)}`);
        for (const name of names) {
          const condition = await shown(name);
          assertThat(condition?.reason === 'CanaryNotFound', `${name}: ${condition?.reason}`);
          const told = (await eventsOf(world, name)).filter(({ reason }) => reason === 'DeletionWithheld');
          assertThat(told.length === 1, `${name}: ${told.length} events`);
        }
      });
      await check(
        'explain, the condition and the event name the command by which a person releases a Node',
        async () => {
          const name = names[0]!;
          const { uid } = (await nodeNamed(world, name)).metadata;
          const command = `kubectl annotate node ${name} ${annotations.releaseDeletion}=${uid}`;
          const { reason, why, remedy } = await explain(world, name);
          assertThat(reason === 'CanaryNotFound' && why.includes(command), `${reason}: ${why}`);
          assertThat(remedy.includes(annotations.releaseDeletion), remedy);
          const told = (await eventsOf(world, name)).find(({ reason: each }) => each === 'DeletionWithheld');
          assertThat(told?.message.includes(command) === true, told?.message ?? 'no event');
        },
      );
      await check('with the right credential back the Node of a terminated VM goes, the others stay', async () => {
        const [gone, ...others] = world.vms;
        world.cloud.model.terminate(gone!.id);
        await restartWith(world, world.cloud.credential);
        await until('the Node is gone', 40_000, async () => (await nodeNamed(world, gone!.name)) === undefined);
        for (const vm of others) {
          await world.kubelets.get(vm.name)?.start();
          await world.agents.restart(vm);
        }
        await until('the others are well again', 40_000, async () =>
          (await Promise.all(others.map(({ name }) => shown(name)))).every((each) => each?.status === 'False'),
        );
        assertThat((await nodeNames(world)).length === others.length, `left: ${await nodeNames(world)}`);
      });
    }),
};
