import { setTimeout as sleep } from 'node:timers/promises';
import { createNodes } from '../bare-patches.ts';
import type { Contender } from '../contender.ts';
import { type MemoryFigures, memoryOf } from '../process-figures.ts';
import { quiet, type Stage } from '../stage.ts';
import { watchFor } from '../watch-for.ts';
import { isInitialised } from './node-joins.ts';

export interface HeldMemoryOptions {
  readonly nodes: number;
  /** Initialises the Nodes before. */
  readonly preparer: Contender;
}

/** A leader that starts on a large cluster where nothing is to be done, after its first look at everything. */
export async function measureHeldMemory(stage: Stage, { nodes, preparer }: HeldMemoryOptions): Promise<MemoryFigures> {
  const machines = stage.cloud.model.createMany(nodes, { name: 'bench' });
  const noRoutes = ['--configure-cloud-routes=false'];
  const before = await stage.lead(noRoutes, preparer);
  const initialised = await watchFor(stage.client, '/api/v1/nodes', isInitialised);
  try {
    await createNodes(stage.api, machines, 32);
    await initialised.reached(nodes, 600_000);
  } finally {
    initialised.stop();
  }
  await before.retire();
  const leader = await stage.lead(noRoutes);
  await sleep(5000);
  await quiet(stage.cloud, 5000, 60_000);
  return memoryOf(leader.pid);
}
