import { execFile } from 'node:child_process';
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ours } from './contender.ts';
import { type MemoryFigures, median, memoryOf } from './process-figures.ts';
import { onStage } from './stage.ts';
import type { BenchApi } from './start-bench-api.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');

/** What ships, built from one revision. */
export interface BuiltRevision {
  readonly name: string;
  readonly dist: string;
}

/** Builds what shipped at `revision` in a worktree under `folder`, with the packages of this checkout. */
export async function buildRevision(revision: string, folder: string): Promise<BuiltRevision> {
  const tree = join(folder, 'revision');
  const git = (...args: string[]) => run('git', ['-C', root, ...args]);
  await git('worktree', 'add', '--detach', '--quiet', tree, revision);
  try {
    await symlink(join(root, 'node_modules'), join(tree, 'node_modules'));
    await run(process.execPath, ['scripts/build.ts'], { cwd: tree });
    const dist = join(folder, 'dist-revision');
    await run('cp', ['-r', join(tree, 'dist'), dist]);
    return { name: revision, dist };
  } finally {
    await git('worktree', 'remove', '--force', tree);
    await rm(tree, { recursive: true, force: true });
  }
}

/** Leaders of an empty cluster with the simulated cloud alone, one after the other and round after round; medians. */
export async function measureIdleMemory(
  api: BenchApi['api'],
  built: readonly BuiltRevision[],
  { rounds, seconds }: { readonly rounds: number; readonly seconds: number },
): Promise<ReadonlyMap<string, MemoryFigures>> {
  const figures = new Map<string, MemoryFigures[]>(built.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, dist } of round % 2 === 0 ? built : built.toReversed()) {
      const memory = await onStage(api, ours(dist), { latencyMs: 0 }, async ({ lead }) => {
        const { pid } = await lead(['--cluster-cidr=10.64.0.0/10']);
        await sleep(seconds * 1000);
        return memoryOf(pid);
      });
      figures.get(name)?.push(memory);
    }
  }
  return new Map(
    [...figures].map(([name, all]) => {
      const of = (pick: (one: MemoryFigures) => number) => median(all.map(pick));
      return [
        name,
        {
          rssMiB: of(({ rssMiB }) => rssMiB),
          anonymousMiB: of(({ anonymousMiB }) => anonymousMiB),
          peakMiB: of(({ peakMiB }) => peakMiB),
        },
      ];
    }),
  );
}
