import type { CloudModule } from './cloud.ts';

/**
 * The clouds with a controller half, by name. Each is loaded when it is asked for, so a process carries the code of its own clouds alone;
 * the build turns each import into a bundle of its own.
 */
export const cloudModules: ReadonlyMap<string, () => Promise<CloudModule>> = new Map([
  ['aws', async () => (await import('./aws/index.ts')).cloudModule],
  ['openstack', async () => (await import('./openstack/index.ts')).cloudModule],
  ['simulated', async () => (await import('./simulated/index.ts')).cloudModule],
]);
