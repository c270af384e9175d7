import { CloudError } from '../../../common/cloud-error.ts';
import { lookupListed, type VolumePlace, type VolumeRef, type Volumes, volumeKey } from '../volumes.ts';
import type { OpenStackClient } from './client.ts';
import { objectOf, objectsOf, textOf } from './json.ts';
import { labelValue } from './server.ts';
import { isHyphenatedUuid } from './uuid.ts';

export interface VolumeOptions {
  readonly client: Pick<OpenStackClient, 'get' | 'list'>;
  readonly region: string | undefined;
  /** `ignore-volume-az`: volumes of any zone can be used in all of them. */
  readonly ignoresZones: boolean;
}

/** Cinder volumes of one project and region. */
export function createVolumes({ client, region, ignoresZones }: VolumeOptions): Volumes {
  const service = 'block-storage';

  function placeOf(volume: unknown, operation: string): VolumePlace {
    // As the zones of servers become labels of Nodes.
    const zone = labelValue(textOf(objectOf(volume)?.['availability_zone']));
    if (ignoresZones) return { zones: [], region };
    if (zone !== undefined) return { zones: [zone], region };
    const message = 'the answer has no availability_zone';
    throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
  }

  async function list(refs: readonly VolumeRef[], signal?: AbortSignal): Promise<ReadonlyMap<string, VolumePlace>> {
    const operation = 'GET /volumes/detail';
    const query = [['limit', '1000']] as const;
    const request = { service, path: '/volumes/detail', operation, query, signal } as const;
    const { items, failure } = await client.list(request, 'volumes');
    if (failure !== undefined) throw failure;
    const byId = new Map(objectsOf(items).map((volume) => [textOf(volume['id'])?.toLowerCase(), volume]));
    return new Map(
      refs.flatMap((ref): [string, VolumePlace][] => {
        const volume = byId.get(ref.handle.toLowerCase());
        return volume === undefined ? [] : [[volumeKey(ref), placeOf(volume, operation)]];
      }),
    );
  }

  async function read({ handle }: VolumeRef, signal?: AbortSignal): Promise<VolumePlace> {
    const operation = 'GET /volumes/{id}';
    const path = `/volumes/${handle.toLowerCase()}`;
    const body = objectOf(await client.get({ service, path, operation, signal }));
    return placeOf(body?.['volume'], operation);
  }

  return {
    sources: [{ name: 'cinder', idField: 'volumeID' }, { name: 'cinder.csi.openstack.org' }],
    accepts: ({ handle }) => isHyphenatedUuid(handle),
    lookup: (refs, signal) =>
      lookupListed(
        'openstack',
        refs,
        (all) => list(all, signal),
        (ref) => read(ref, signal),
      ),
  };
}
