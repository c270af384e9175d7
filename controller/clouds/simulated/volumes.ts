import type { AnswerFields } from '../answer-fields.ts';
import type { JsonApi } from '../json-api.ts';
import { chunks } from '../parallel.ts';
import { lookupGroups, type VolumePlace, type VolumeRef, type Volumes, volumeKey } from '../volumes.ts';
import { cloud } from './fault.ts';

/** Of its CSI driver. */
export const simulatedDriver = 'csi.simulated.mooring.dev';

const volumeId = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** Of up to 63 characters each, in one request line. */
const maxIds = 100;

/** Volumes of one project and region. A filter by ids is complete: an id that it leaves out does not exist. */
export function createVolumes(api: JsonApi, region: string): Volumes {
  async function read(refs: readonly VolumeRef[], signal?: AbortSignal) {
    const ids = [...new Set(refs.map(({ handle }) => handle))];
    const query = [['ids', ids.join(',')]] as const;
    const answer = await api.call({ operation: 'volumes.lookup', path: '/volumes', query, signal });
    const places = new Map(answer.objects('items').map((item) => placeOf(item, region)));
    return new Map(
      refs.flatMap((ref) => {
        const place = places.get(ref.handle);
        return place ? [[volumeKey(ref), { state: 'found', place }] as const] : [];
      }),
    );
  }

  return {
    sources: [{ name: simulatedDriver }],
    accepts: ({ handle }) => volumeId.test(handle),
    lookup: (refs, signal) => lookupGroups(cloud, chunks(refs, maxIds), (group) => read(group, signal)),
  };
}

function placeOf(fields: AnswerFields, region: string): [string, VolumePlace] {
  return [fields.text('id'), { zones: fields.texts('zones'), region }];
}
