import { type ProviderIdCodec, schemeOf } from './codec.ts';

const shape = /^([^/\s]+)\/([^/\s]+)\/([^/\s]+)$/;

/**
 * `gce://<project id>/<zone>/<instance name>`: exactly three segments, as upstream's controller has it. Names are
 * unique within project and zone only, so all three together are the instance's id. A domain after the name is cut, as
 * upstream does.
 */
export const gce: ProviderIdCodec = {
  cloud: 'gce',
  scheme: 'gce',
  parse(text) {
    if (schemeOf(text) !== 'gce') return undefined;
    const found = shape.exec(text.slice('gce://'.length));
    if (found === null) return undefined;
    const [, project, zone, name] = found as unknown as [string, string, string, string];
    const bare = name.split('.', 1)[0]!;
    return bare === '' ? undefined : { instanceId: `${project}/${zone}/${bare}`, zone, region: gceRegion(zone) };
  },
  print({ instanceId: id }) {
    if (!shape.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(id)}, expected project/zone/name`);
    return `gce://${id}`;
  },
};

/** The region of a zone: `europe-west1-b` is in `europe-west1`. */
export function gceRegion(zone: string): string {
  return zone.replace(/-[^-]*$/, '');
}
