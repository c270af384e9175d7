import { type ProviderIdCodec, schemeOf } from './codec.ts';

const segment = /^[^/\s]+$/;

/** `simulated://<region>/<instance id>`; no scheme-less form. */
export const simulated: ProviderIdCodec = {
  cloud: 'simulated',
  scheme: 'simulated',
  parse(text) {
    if (schemeOf(text) !== 'simulated') return undefined;
    const [region, id, ...more] = text.slice('simulated://'.length).split('/');
    if (!region || !id || more.length > 0 || !segment.test(region) || !segment.test(id)) return undefined;
    return { instanceId: id, region };
  },
  print({ instanceId: id, region }) {
    if (!segment.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(id)}, expected an instance id`);
    if (region === undefined || !segment.test(region)) {
      throw new RangeError(`region: ${JSON.stringify(region)}, expected a region name`);
    }
    return `simulated://${region}/${id}`;
  },
};
