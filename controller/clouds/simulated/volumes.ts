import { chunks } from '../parallel.ts';
import { lookupGroups, type VolumePlace, type VolumeRef, type Volumes, volumeKey } from '../volumes.ts';
import { itemFields } from './load-balancer-answer.ts';
import { cloud, itemsOf, type Transport } from './transport.ts';

/** Of its CSI driver. */
export const simulatedDriver = 'csi.simulated.mooring.dev';

const volumeId = /^[a-z0-9][a-z0-9-]{0,62}$/;
/** Of up to 63 characters each, in one request line. */
const maxIds = 100;
const operation = 'volumes.lookup';

/** Volumes of one project and region. A filter by ids is complete: an id that it leaves out does not exist. */
export function createVolumes(transport: Transport, region: string): Volumes {
  async function read(refs: readonly VolumeRef[], signal?: AbortSignal) {
    const ids = [...new Set(refs.map(({ handle }) => handle))];
    const answer = await transport({ operation, path: `/volumes?ids=${ids.join(',')}`, signal });
    const places = new Map(itemsOf(answer, operation).map((item) => placeOf(item, region)));
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

function placeOf(item: unknown, region: string): [string, VolumePlace] {
  const fields = itemFields(item, 'volume', operation);
  return [fields.text('id'), { zones: fields.texts('zones'), region }];
}
