import type { AnswerFields } from '../answer-fields.ts';
import type { OvirtConfig, Place } from './config.ts';
import type { Engine } from './engine.ts';

export interface ZoneAndRegion {
  readonly zone?: string;
  readonly region?: string;
}

/** Answers where a VM is. */
export type PlaceOf = (vm: AnswerFields) => ZoneAndRegion;

/** Names of hosts, clusters and data centers, where labels are made of them: up to three calls, or none. */
export async function readPlaces(
  engine: Engine,
  { zone, region }: Pick<OvirtConfig, 'zone' | 'region'>,
  signal: AbortSignal | undefined,
): Promise<PlaceOf> {
  const needed = new Set([zone, region]);
  const read = async (path: string, collection: string, isNeeded: boolean) => {
    const items = isNeeded ? (await engine.get({ path, signal })).optionalObjects(collection) : [];
    return new Map(items.map((item) => [item.text('id'), item]));
  };
  const [hosts, clusters, centers] = await Promise.all([
    read('/hosts', 'host', needed.has('host')),
    read('/clusters', 'cluster', needed.has('cluster') || needed.has('data-center')),
    read('/datacenters', 'data_center', needed.has('data-center')),
  ]);

  function nameOf(vm: AnswerFields, place: Place | undefined): string | undefined {
    const idOf = (name: string, of: AnswerFields | undefined) => of?.optionalObject(name)?.optionalText('id') ?? '';
    // A VM that does not run has no host.
    if (place === 'host') return hosts.get(idOf('host', vm))?.text('name');
    const cluster = clusters.get(idOf('cluster', vm));
    if (place === 'cluster') return cluster?.text('name');
    return centers.get(idOf('data_center', cluster))?.text('name');
  }
  return (vm) => {
    const [zoneName, regionName] = [nameOf(vm, zone), nameOf(vm, region)];
    return {
      ...(zone === undefined || zoneName === undefined ? {} : { zone: zoneName }),
      ...(region === undefined || regionName === undefined ? {} : { region: regionName }),
    };
  };
}
