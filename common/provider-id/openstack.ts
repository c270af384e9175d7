import { type ProviderIdCodec, schemeOf } from './codec.ts';

const segment = /^[^/\s]+$/;

/**
 * `openstack:///<server id>`, or `openstack://<region>/<server id>` where regional ids are configured. As in upstream's
 * controller, `/<id>` and `<region>/<id>` without a scheme are accepted and a bare `<id>` is not.
 */
export const openstack: ProviderIdCodec = {
  cloud: 'openstack',
  scheme: 'openstack',
  parse(text) {
    const scheme = schemeOf(text);
    if (scheme !== undefined && scheme !== 'openstack') return undefined;
    const rest = scheme === undefined ? text : text.slice('openstack://'.length);
    const slash = rest.indexOf('/');
    if (slash < 0) return undefined;
    const region = rest.slice(0, slash);
    const id = rest.slice(slash + 1);
    if (!segment.test(id) || (region !== '' && !segment.test(region))) return undefined;
    return region === '' ? { instanceId: id } : { instanceId: id, region };
  },
  print({ instanceId: id, region }) {
    if (!segment.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(id)}, expected a server id`);
    if (region !== undefined && !segment.test(region)) {
      throw new RangeError(`region: ${JSON.stringify(region)}, expected a region name`);
    }
    return `openstack://${region ?? ''}/${id}`;
  },
};
