import type { Instance } from '../../../common/instance.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { VSphereConfig } from './config.ts';
import { type Ref, refKey, refOf } from './soap.ts';
import type { VCenter } from './vcenter.ts';

type Named = { readonly [key: string]: string };
type Attached = readonly {
  readonly object_id: { readonly id: string; readonly type: string };
  readonly tag_ids: readonly string[] | null;
}[];
/** Empty where none are configured. */
export type Zone = Pick<Instance, 'zone' | 'region' | 'placeUnknown'>;

export type ReadZones = ReturnType<typeof createZones>;

const untagged: Zone = {
  placeUnknown: 'Invalid: neither the VM nor what it is in has a tag of both categories of [Labels]',
};
/** Nodes that join one after the other ask for the same few hosts and folders. */
const maxAgeMs = 5 * 60_000;

/**
 * The zone and region of VMs of one vCenter, by their places: reads vSphere tags of two categories, on a place or on
 * anything above it; the nearest tag of each category counts. What is read serves for five minutes.
 */
export function createZones(categories: VSphereConfig['categories'], clock: Clock) {
  const empty = () => ({
    until: clock.monotonic() + maxAgeMs,
    parents: new Map<string, Ref | undefined>(),
    tags: new Map<string, readonly string[]>(),
    names: new Map<string, Named>(),
  });
  let known = empty();

  /** From one place upwards. */
  function zoneOf(place: Ref, { parents, tags, names }: typeof known): Zone {
    const found: { zone?: string; region?: string } = {};
    for (let at: Ref | undefined = place; at !== undefined; at = parents.get(refKey(at))) {
      for (const id of tags.get(refKey(at)) ?? []) {
        const { name, category_id } = names.get(id) ?? {};
        const category = names.get(category_id ?? '')?.['name'];
        if (name && category === categories?.zone) found.zone ??= name;
        if (name && category === categories?.region) found.region ??= name;
      }
    }
    return found;
  }

  /** Throws a CloudError. */
  return async (
    vcenter: VCenter,
    vms: readonly (readonly Ref[])[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Zone[]> => {
    if (categories === undefined) return vms.map(() => ({}));
    if (clock.monotonic() >= known.until) known = empty();
    const mine = known;
    const { parents, tags, names } = mine;
    for (let level = vms.flat(); level.length > 0; level = level.flatMap((ref) => parents.get(refKey(ref)) ?? [])) {
      const missing = new Map(level.filter((ref) => !parents.has(refKey(ref))).map((ref) => [refKey(ref), ref]));
      if (missing.size === 0) continue;
      const rows = await vcenter.retrieve('ManagedEntity', ['parent'], [...missing.values()], signal);
      for (const { ref, values } of rows) parents.set(refKey(ref), refOf(values.get('parent')));
      for (const key of missing.keys()) if (!parents.has(key)) parents.set(key, undefined);
    }
    const untold = [...parents.keys()].filter((key) => !tags.has(key));
    if (untold.length > 0) {
      const object_ids = untold.map((key) => ({ type: key.split(':')[0], id: key.slice(key.indexOf(':') + 1) }));
      const path = '/tagging/tag-association?~action=list-attached-tags-on-objects';
      const attached = (await vcenter.rest('POST', path, { object_ids }, signal)) as Attached;
      for (const key of untold) tags.set(key, []);
      for (const { object_id, tag_ids } of attached)
        tags.set(refKey({ type: object_id.type, value: object_id.id }), tag_ids ?? []);
    }
    const name = async (kind: 'tag' | 'category', id: string) => {
      if (!names.has(id))
        names.set(id, (await vcenter.rest('GET', `/tagging/${kind}/id:${id}`, undefined, signal)) as Named);
      return names.get(id)!['category_id'] ?? '';
    };
    for (const id of new Set([...tags.values()].flat())) await name('category', await name('tag', id));
    return vms.map((places) => {
      const zones = places.map((place) => zoneOf(place, mine));
      return zones.find(({ zone, region }) => zone !== undefined && region !== undefined) ?? untagged;
    });
  };
}
