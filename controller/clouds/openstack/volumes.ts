import type { AnswerFields } from '../answer-fields.ts';
import { lookupListed, type VolumePlace, type VolumeRef, type Volumes, volumeKey } from '../volumes.ts';
import type { OpenStackClient } from './client.ts';
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

  function placeOf(volume: AnswerFields): VolumePlace {
    if (ignoresZones) return { zones: [], region };
    // As the zones of servers become labels of Nodes.
    const zone = labelValue(volume.text('availability_zone'));
    if (zone === undefined) throw volume.wrong('availability_zone', 'a zone');
    return { zones: [zone], region };
  }

  async function list(refs: readonly VolumeRef[], signal?: AbortSignal): Promise<ReadonlyMap<string, VolumePlace>> {
    const query = [['limit', '1000']] as const;
    const volumes = await client.list({ service, path: '/volumes/detail', query, signal }, 'volumes');
    const byId = new Map(volumes.map((volume) => [volume.text('id').toLowerCase(), volume]));
    return new Map(
      refs.flatMap((ref): [string, VolumePlace][] => {
        const volume = byId.get(ref.handle.toLowerCase());
        return volume === undefined ? [] : [[volumeKey(ref), placeOf(volume)]];
      }),
    );
  }

  async function read({ handle }: VolumeRef, signal?: AbortSignal): Promise<VolumePlace> {
    const answer = await client.get({ service, path: `/volumes/${handle.toLowerCase()}`, signal });
    return placeOf(answer.object('volume'));
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
