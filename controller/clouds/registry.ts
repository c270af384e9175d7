import { providerIdCodecs } from '../../common/provider-id/registry.ts';
import { CloudConfigError, type CloudModule } from './cloud.ts';

/**
 * The clouds with controller support, by name. Each is loaded on demand, so that a process loads only the code of its
 * own clouds. The build turns each import into a separate bundle.
 */
export const cloudModules: ReadonlyMap<string, () => Promise<CloudModule>> = new Map([
  ['alibaba', loading('alibaba', () => import('./alibaba/index.ts'))],
  ['aws', loading('aws', () => import('./aws/index.ts'))],
  ['azure', loading('azure', () => import('./azure/index.ts'))],
  ['cloudstack', loading('cloudstack', () => import('./cloudstack/index.ts'))],
  ['digitalocean', loading('digitalocean', () => import('./digitalocean/index.ts'))],
  ['gce', loading('gce', () => import('./gce/index.ts'))],
  ['hetzner', loading('hetzner', () => import('./hetzner/index.ts'))],
  ['huaweicloud', loading('huaweicloud', () => import('./huaweicloud/index.ts'))],
  ['openstack', loading('openstack', () => import('./openstack/index.ts'))],
  ['ovirt', loading('ovirt', () => import('./ovirt/index.ts'))],
  ['simulated', loading('simulated', () => import('./simulated/index.ts'))],
  ['vsphere', loading('vsphere', () => import('./vsphere/index.ts'))],
]);

/**
 * What classic controllers call their clouds in `--cloud-provider`, where it is not our name. Rackspace is an
 * OpenStack: its own controller, which logged in by API key, has ended.
 */
const classicNames: ReadonlyMap<string, string> = new Map([
  ['external-cloudstack', 'cloudstack'],
  ['hcloud', 'hetzner'],
  ['rackspace', 'openstack'],
]);

/** Platforms that Kubernetes had a provider for and that have ended, and why, for the line that refuses them. */
export const endedPlatforms: ReadonlyMap<string, string> = new Map([
  ['mesos', 'Kubernetes on Apache Mesos has ended'],
  ['photon', 'VMware Photon Controller has ended'],
  ['rancher', 'Rancher 1.x has ended, and Rancher 2 needs no provider of its own'],
]);

/** Whether a cloud of Mooring has this name or reads it as a scheme, or Kubernetes had a platform of this name. */
export function isKnownName(name: string): boolean {
  if ([cloudModules, providerIdCodecs, classicNames, endedPlatforms].some((names) => names.has(name))) return true;
  return [...providerIdCodecs.values()].some(
    (codec) => codec.scheme === name || (cloudModules.has(codec.cloud) && codec.parse(`${name}://1`) !== undefined),
  );
}

/** Our name of a cloud that a command line names. */
export function cloudNameOf(name: string): string {
  return classicNames.get(name) ?? name;
}

function loading(name: string, load: () => Promise<{ readonly cloudModule: CloudModule }>) {
  return async (): Promise<CloudModule> => {
    try {
      return (await load()).cloudModule;
    } catch (error) {
      // The program was copied without the bundles of its clouds.
      if (!isMissingFile(error, `clouds/${name}.cjs`)) throw error;
      const message =
        `--cloud-provider ${name}: clouds/${name}.cjs is not beside the program, expected the whole of what ` +
        'was built';
      throw new CloudConfigError(message);
    }
  };
}

function isMissingFile(error: unknown, file: string): boolean {
  if (!(error instanceof Error) || !('code' in error) || error.code !== 'MODULE_NOT_FOUND') return false;
  return error.message.split('\n', 1)[0]!.includes(file);
}
