import { availableParallelism, release } from 'node:os';
import type { Machine } from './machine.ts';
import type { HostFacts } from './show.ts';

/**
 * Facts about the machine of the agent. Only `mem` of systeminformation is used, which reads a file; most other
 * functions start processes (`networkInterfaces` 59 of them). The library is loaded only here, so that the running
 * agent does not contain it.
 */
export async function readHostFacts(machine: Machine): Promise<HostFacts> {
  const { mem } = await import('systeminformation');
  const { total } = await mem();
  const bootId = await machine.bootId();
  return {
    cpus: availableParallelism(),
    memoryBytes: total,
    kernel: release(),
    ...(bootId === undefined ? {} : { bootId }),
  };
}
