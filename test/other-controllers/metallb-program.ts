import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { goProgram, limits, type Tool } from '../clouds/proof-tools.ts';

const source = join(import.meta.dirname, 'metallb');

/** MetalLB's controller, built with go, some minutes the first time; and the definitions of its objects. */
export async function metallbProgram(): Promise<Tool<{ program: string; definitions: string }>> {
  const built = await goProgram(source, 'metallb-controller', 'tool', { ...limits, timeout: 1_800_000 });
  if ('skipped' in built) return built;
  const list = ['list', '-m', '-f', '{{.Dir}}', 'go.universe.tf/metallb'];
  const { stdout } = await promisify(execFile)('go', list, { ...limits, cwd: source });
  return { ...built, definitions: join(stdout.trim(), 'config/crd/bases') };
}
