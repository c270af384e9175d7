import { join } from 'node:path';
import { goProgram, type Tool } from '../clouds/proof-tools.ts';

/** `node test/deploy/find-helm.ts` builds it and prints its path. */

/** helm, which is built with go of the module in `helm/`: some minutes the first time. */
export function findHelm(): Promise<Tool<{ program: string }>> {
  return goProgram(join(import.meta.dirname, 'helm'), 'helm', 'tool');
}

if (import.meta.main) {
  const found = await findHelm();
  console.log('skipped' in found ? found.skipped : found.program);
  process.exitCode = 'skipped' in found ? 1 : 0;
}
