import { type ProviderIdCodec, schemeOf } from './codec.ts';

const instanceId = /^i-[^/]+$/;
const zoneName = /^[a-z]{2,}(-[a-z0-9]+)+$/;

/**
 * `aws:///<zone>/<instance id>`. As upstream's controller does, the last path segment is the id and the rest may be
 * missing (`aws:////i-1`), and a bare `i-…` is accepted. Fargate's `fargate-ip-…` is not an EC2 instance and not
 * accepted.
 */
export const aws: ProviderIdCodec = {
  cloud: 'aws',
  scheme: 'aws',
  parse(text) {
    const scheme = schemeOf(text);
    if (scheme !== undefined && scheme !== 'aws') return undefined;
    if (scheme === undefined) return instanceId.test(text) ? { instanceId: text } : undefined;
    const segments = text.slice('aws://'.length).split('/').filter(Boolean);
    const id = segments.at(-1);
    if (id === undefined || !instanceId.test(id)) return undefined;
    const zone = segments.length > 1 ? segments.at(-2) : undefined;
    return zone !== undefined && zoneName.test(zone) ? { instanceId: id, zone } : { instanceId: id };
  },
  print({ instanceId: id, zone }) {
    if (!instanceId.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(id)}, expected i-…`);
    if (zone === undefined || zone === '' || zone.includes('/')) {
      throw new RangeError(`zone: ${JSON.stringify(zone)}, expected an availability zone`);
    }
    return `aws:///${zone}/${id}`;
  },
};
