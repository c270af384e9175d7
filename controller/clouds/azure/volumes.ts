import type { Disk } from '@azure/arm-compute';
import { inParallel } from '../parallel.ts';
import { lookupListed, type VolumePlace, type VolumeRef, type Volumes, volumeKey } from '../volumes.ts';
import type { Answered } from './answered.ts';
import { type ArmClient, versions } from './client.ts';
import { cloud } from './fault.ts';
import { groupPath, pathOf } from './resource-id.ts';

/** The id of a managed disk, in any case. Blobs of the in-tree plugin have URLs of storage, and no zone. */
const shape = /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/Microsoft\.Compute\/disks\/[^/]+$/i;
const callsAtOnce = 4;

/** Managed disks of one subscription. */
export function createVolumes(client: ArmClient, subscription: string): Volumes {
  /** Of the resource groups that the ids name. */
  async function list(refs: readonly VolumeRef[], signal?: AbortSignal): Promise<ReadonlyMap<string, VolumePlace>> {
    const groups = new Set(refs.map(({ handle }) => shape.exec(handle)![2]!.toLowerCase()));
    const disks = await inParallel(callsAtOnce, [...groups], (group) => {
      const path = groupPath(subscription, group, 'Microsoft.Compute/disks');
      return client.list({ operation: 'GET disks', path, version: versions.disks, signal });
    });
    const byId = new Map(disks.flat().map((disk) => [disk.text('id').toLowerCase(), disk]));
    return new Map(
      refs.flatMap((ref): [string, VolumePlace][] => {
        const disk = byId.get(ref.handle.toLowerCase());
        return disk === undefined ? [] : [[volumeKey(ref), placeOf(disk)]];
      }),
    );
  }

  async function read({ handle }: VolumeRef, signal?: AbortSignal): Promise<VolumePlace> {
    const path = pathOf(handle)!;
    return placeOf(await client.get({ operation: 'GET disks/{name}', path, version: versions.disks, signal }));
  }

  return {
    sources: [{ name: 'azureDisk', idField: 'diskURI' }, { name: 'disk.csi.azure.com' }],
    accepts: ({ handle }) =>
      shape.exec(handle)?.[1]?.toLowerCase() === subscription.toLowerCase() && pathOf(handle) !== undefined,
    lookup: (refs, signal) =>
      lookupListed(
        cloud,
        refs,
        (all) => list(all, signal),
        (ref) => read(ref, signal),
      ),
  };
}

/**
 * A disk without a zone, or replicated over all zones, is for the whole region. Zones are those of Nodes: `eastus-1`.
 */
function placeOf(disk: Answered<Disk>): VolumePlace {
  const region = disk.text('location').toLowerCase();
  const zones = disk.json()['zones'] == null ? [] : disk.texts('zones');
  return { zones: zones.length === 1 ? [`${region}-${zones[0]}`.toLowerCase()] : [], region };
}
