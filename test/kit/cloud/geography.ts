import { ModelError } from './instance.ts';

/** Project name -> region name -> zone names. */
export type Geography = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/** One project, two regions, three zones and one. */
export const defaultGeography: Geography = {
  demo: { 'sim-1': ['sim-1a', 'sim-1b', 'sim-1c'], 'sim-2': ['sim-2a'] },
};

export interface Place {
  readonly project: string;
  readonly region: string;
  readonly zones: readonly string[];
  /** Position of the region in its project, counted over the whole cloud; addresses derive from it. */
  readonly index: number;
}

/** The places of a geography by `project/region`, in the order in which they are written. */
export function places(geography: Geography): Map<string, Place> {
  const found = new Map<string, Place>();
  for (const [project, regions] of Object.entries(geography)) {
    for (const [region, zones] of Object.entries(regions)) {
      if (zones.length === 0) throw new ModelError('invalid', `region ${project}/${region} has no zone`);
      found.set(placeKey(project, region), { project, region, zones, index: found.size });
    }
  }
  if (found.size === 0) throw new ModelError('invalid', 'a cloud needs at least one project with one region');
  return found;
}

export function placeKey(project: string, region: string): string {
  return `${project}/${region}`;
}
