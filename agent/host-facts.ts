import { availableParallelism, release } from 'node:os';
import { readBootId } from './dmi.ts';
import type { HostFacts } from './show.ts';

/**
 * The machine under the agent. Of systeminformation only `mem` is asked, which reads a file; most others start processes (`networkInterfaces` 59 of them).
 * It is loaded here and nowhere else, so that the agent that runs never carries it.
 *
 * @param root of the file system
 */
export async function readHostFacts(root: string): Promise<HostFacts> {
  const { mem } = await import('systeminformation');
  const { total } = await mem();
  const bootId = await readBootId(root);
  return {
    cpus: availableParallelism(),
    memoryBytes: total,
    kernel: release(),
    ...(bootId === undefined ? {} : { bootId }),
  };
}
