import { join } from 'node:path';
import { goProgram, type Tool } from '../clouds/proof-tools.ts';

const clouds = join(import.meta.dirname, '../clouds');

/** Programs of classic controllers that are tried: the folder of a Go module below test/clouds, and what to build. */
const modules = {
  openstack: ['openstack/classic-controller', 'tool'],
  aws: ['aws/classic-controller', 'tool'],
  azure: ['azure/classic-controller', 'tool'],
  'azure-nodes': ['azure/classic-controller', '.'],
  gce: ['gce/classic-controller', '.'],
} as const;

export type ClassicProgram = keyof typeof modules;
export const classicPrograms = Object.keys(modules) as readonly ClassicProgram[];

/** The variable that names the program for the suite. */
export const classicVariable = (name: ClassicProgram) => `UPGRADE_CLASSIC_${name.toUpperCase().replace('-', '_')}`;

/** Its own program, built with go: some minutes the first time. */
export function buildClassicProgram(name: ClassicProgram): Promise<Tool<{ program: string }>> {
  const [folder, what] = modules[name];
  return goProgram(join(clouds, folder), `${name}-classic-controller`, what, {
    timeout: 1_800_000,
    maxBuffer: 64 * 1024 * 1024,
  });
}
