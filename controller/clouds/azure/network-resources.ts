import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { unlessNotFound } from '../not-found.ts';
import { inParallel } from '../parallel.ts';
import type { Urgency } from '../urgency.ts';
import { type ArmClient, versions } from './client.ts';
import { cloud } from './fault.ts';
import { pathOf } from './resource-id.ts';

export interface ReadOptions {
  readonly urgency?: Urgency | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Network interfaces and public addresses by their ids, for one pass: no list is read twice. */
export interface NetworkResources {
  /**
   * By id in lower case. What is not there, or no such id, is not in the answer; what cannot be read has its error
   * there, which names it: each may be in a resource group that the role does not reach.
   */
  read(ids: readonly string[], options: ReadOptions): Promise<ReadonlyMap<string, AnswerFields | CloudError>>;
}

interface Place {
  /** The list that it stands in. */
  readonly collection: string;
  readonly path: string;
  readonly version: string;
  readonly kind: string;
}

/** Up to so many of one list are asked for one by one. */
const getUpTo = 2;
const callsAtOnce = 4;

export function createNetworkResources(client: ArmClient): NetworkResources {
  const lists = new Map<string, Promise<ReadonlyMap<string, AnswerFields>>>();

  function list(place: Place, options: ReadOptions): Promise<ReadonlyMap<string, AnswerFields>> {
    const key = place.collection.toLowerCase();
    const known = lists.get(key);
    if (known !== undefined) return known;
    const { collection: path, version, kind } = place;
    const reading = unlessNotFound(client.list({ operation: `GET ${kind}`, path, version, ...options })).then(
      (items = []) => new Map(items.map((item) => [item.text('id').toLowerCase(), item])),
    );
    lists.set(key, reading);
    return reading;
  }

  const one = ({ path, version, kind }: Place, options: ReadOptions) =>
    unlessNotFound(client.get({ operation: `GET ${kind}/{name}`, path, version, ...options }));

  async function readable(id: string, read: () => Promise<AnswerFields | undefined>) {
    try {
      return await read();
    } catch (error) {
      if (!isCloudError(error)) throw error;
      const { kind, retryAfterMs } = error;
      const message = `${id}: ${error.message}`;
      return new CloudError({ kind, cloud, operation: 'lookup', message, retryAfterMs, cause: error });
    }
  }

  return {
    async read(ids, options) {
      const found = new Map<string, AnswerFields | CloudError>();
      const places = new Map(ids.flatMap((id) => placed(id)));
      const byList = Map.groupBy(places, ([, { collection }]) => collection.toLowerCase());
      await inParallel(callsAtOnce, [...byList.values()], async (some) => {
        for (const [id, place] of some) {
          const isFew = some.length <= getUpTo;
          const item = await readable(id, async () =>
            isFew ? one(place, options) : (await list(place, options)).get(id),
          );
          if (item !== undefined) found.set(id, item);
        }
      });
      return found;
    },
  };
}

const ofGroup = /^(.*\/providers\/Microsoft\.Network\/(networkInterfaces|publicIPAddresses))\/[^/]+$/i;
const ofScaleSet =
  /^(.*\/virtualMachineScaleSets\/[^/]+)\/virtualMachines\/.*\/(networkInterfaces|publicIPAddresses)\/[^/]+$/i;

function placed(id: string): [string, Place][] {
  const place = placeOf(id);
  return place === undefined ? [] : [[id.toLowerCase(), place]];
}

/** Undefined for what is no id of a network interface or public address. */
function placeOf(id: string): Place | undefined {
  const path = pathOf(id);
  if (path === undefined) return undefined;
  const [, collection, kind = ''] = ofGroup.exec(path) ?? [];
  if (collection !== undefined) return { collection, path, version: versions.network, kind };
  const [, scaleSet, inSet = ''] = ofScaleSet.exec(path) ?? [];
  if (scaleSet === undefined) return undefined;
  const below = inSet.toLowerCase() === 'publicipaddresses' ? 'publicipaddresses' : inSet;
  const version = versions.scaleSetNetwork;
  return { collection: `${scaleSet}/${below}`, path, version, kind: `scale set ${inSet}` };
}
