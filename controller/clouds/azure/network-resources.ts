import type { AnswerFields } from '../answer-fields.ts';
import { unlessNotFound } from '../not-found.ts';
import { inParallel } from '../parallel.ts';
import type { Urgency } from '../urgency.ts';
import { type ArmClient, versions } from './client.ts';
import { pathOf } from './resource-id.ts';

export interface ReadOptions {
  readonly urgency?: Urgency | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Network interfaces and public addresses by their ids, for one pass: no list is read twice. */
export interface NetworkResources {
  /** By id in lower case; what is not there, or no such id, is not in the answer. Throws a CloudError. */
  read(ids: readonly string[], options: ReadOptions): Promise<ReadonlyMap<string, AnswerFields>>;
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
    const reading = client
      .list({ operation: `GET ${kind}`, path, version, ...options })
      .then((items) => new Map(items.map((item) => [item.text('id').toLowerCase(), item])));
    lists.set(key, reading);
    return reading;
  }

  const one = ({ path, version, kind }: Place, options: ReadOptions) =>
    unlessNotFound(client.get({ operation: `GET ${kind}/{name}`, path, version, ...options }));

  return {
    async read(ids, options) {
      const found = new Map<string, AnswerFields>();
      const places = new Map(ids.flatMap((id) => placed(id)));
      const byList = Map.groupBy(places, ([, { collection }]) => collection.toLowerCase());
      await inParallel(callsAtOnce, [...byList.values()], async (some) => {
        const listed = some.length <= getUpTo ? undefined : await list(some[0]![1], options);
        for (const [id, place] of some) {
          const item = listed === undefined ? await one(place, options) : listed.get(id);
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
