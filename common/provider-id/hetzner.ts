import { type ProviderIdCodec, schemeOf } from './codec.ts';

const serverId = /^[1-9]\d*$/;
const dedicated = /^bm-[1-9]\d*$/;

/**
 * `hcloud://<server id>` for servers of Hetzner Cloud, `hrobot://<server number>` for dedicated servers, which are
 * `bm-<server number>` among our ids. An old fork of the classic controller wrote `hcloud://bm-<server number>`.
 */
export const hetzner: ProviderIdCodec = {
  cloud: 'hetzner',
  scheme: 'hcloud',
  parse(text) {
    const scheme = schemeOf(text);
    if (scheme !== 'hcloud' && scheme !== 'hrobot') return undefined;
    const id = text.slice(`${scheme}://`.length);
    if (serverId.test(id)) return { instanceId: scheme === 'hrobot' ? `bm-${id}` : id };
    return scheme === 'hcloud' && dedicated.test(id) ? { instanceId: id } : undefined;
  },
  print({ instanceId: id }) {
    if (dedicated.test(id)) return `hrobot://${id.slice('bm-'.length)}`;
    if (!serverId.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(id)}, expected a server's number`);
    return `hcloud://${id}`;
  },
};
