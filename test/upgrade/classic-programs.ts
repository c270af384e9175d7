import { join } from 'node:path';
import { goProgram, type Tool } from '../clouds/proof-tools.ts';

const clouds = join(import.meta.dirname, '../clouds');

/** Classic controllers that are tried: the folder of a Go module below test/clouds, and what to build there. */
const modules = {
  openstack: ['openstack/classic-controller', 'tool'],
  aws: ['aws/classic-controller', 'tool'],
} as const;

export type ClassicCloud = keyof typeof modules;
export const classicClouds = Object.keys(modules) as readonly ClassicCloud[];

/** The variable that names the program for the suite. */
export const classicVariable = (cloud: ClassicCloud) => `UPGRADE_CLASSIC_${cloud.toUpperCase()}`;

/** Its own program, built with go: some minutes the first time. */
export function classicProgram(cloud: ClassicCloud): Promise<Tool<{ program: string }>> {
  const [folder, what] = modules[cloud];
  return goProgram(join(clouds, folder), `${cloud}-classic-controller`, what, {
    timeout: 1_800_000,
    maxBuffer: 64 * 1024 * 1024,
  });
}
