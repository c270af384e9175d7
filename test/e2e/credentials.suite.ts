import { readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { taints } from '../../common/well-known.ts';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { assertThat, nodeNamed, taintKeys, until } from '../kit/world/scenario.ts';
import type { World } from '../kit/world/world.ts';
import { inWorld } from './in-world.ts';

const reloads = (result: string) => `mooring_cloud_credential_reloads_total{cloud="simulated",result="${result}"}`;

async function count(world: World, sample: string): Promise<number[]> {
  // One that has only just been started does not answer yet.
  return Promise.all(
    world.replicas.map(async (replica) => (await replica.metrics().catch(() => undefined))?.get(sample) ?? 0),
  );
}

async function answer(world: World): Promise<boolean> {
  const asked = await Promise.allSettled(world.replicas.map((replica) => replica.metrics()));
  return asked.every(({ status }) => status === 'fulfilled');
}

async function joins(world: World, name: string): Promise<void> {
  await world.boot(name);
  await until(`${name} is initialised`, 30_000, async () => {
    const node = await nodeNamed(world, name);
    return node && !taintKeys(node).includes(taints.uninitialized);
  });
}

/** As a mounted Secret changes: the file is a link, and another one takes its place. */
async function mount(world: World, credential: string, version: number): Promise<void> {
  const file = join(world.folder, 'credential');
  const target = `${file}.${version}`;
  await writeFile(target, `${credential}\n`, { mode: 0o600 });
  await symlink(target, `${file}.link`);
  await rename(`${file}.link`, file);
}

/** The credential of the cloud changes while the controllers run. */
export const credentialsSuite: ApiSuite = {
  name: 'credentials',
  run: (api, suiteCheck) =>
    inWorld({ api, nodes: 1, agentProcesses: 0 }, suiteCheck, async (world, check) => {
      const { credentials, credential: first } = world.cloud;
      const project = [...world.cloud.model.places.values()][0]?.project ?? '';
      const pids = () => world.replicas.map(({ child }) => child.pid).join();
      // One that has not read the first credential yet would take the second for it.
      await until('both replicas answer', 30_000, () => answer(world));
      await joins(world, 'before');
      const before = pids();
      await check('a new credential is taken without a restart, and the old one is not used any more', async () => {
        credentials.set('renewed-once', project);
        await mount(world, 'renewed-once', 2);
        await until('both replicas have it', 40_000, async () =>
          (await count(world, reloads('ok'))).every((n) => n === 1),
        );
        credentials.setMode(first, 'unauthorized');
        await joins(world, 'with-the-second');
      });
      await check('with a bad new one the one before goes on', async () => {
        await mount(world, 'not-a-known-one', 3);
        await until('both have tried it', 40_000, async () =>
          (await count(world, reloads('refused'))).every((n) => n >= 1),
        );
        await joins(world, 'still-with-the-second');
      });
      await check('the one that follows the bad one is taken', async () => {
        credentials.set('renewed-twice', project);
        await mount(world, 'renewed-twice', 4);
        await until('both replicas have it', 40_000, async () =>
          (await count(world, reloads('ok'))).every((n) => n === 2),
        );
        credentials.setMode('renewed-once', 'unauthorized');
        await joins(world, 'with-the-third');
      });
      await check('no process was restarted, and no credential is in a log', async () => {
        assertThat(pids() === before && world.replicas.every(({ child }) => child.running), 'a replica has ended');
        for (const { child } of world.replicas) {
          const text = await readFile(child.logFile, 'utf8');
          for (const secret of [first, 'renewed-once', 'renewed-twice', 'not-a-known-one'])
            assertThat(!text.includes(secret), 'a log has a credential');
        }
      });
    }),
};
