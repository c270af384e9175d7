import { type ProviderIdCodec, schemeOf } from './codec.ts';

const serverId = /^[1-9]\d*$/;

/** `hcloud://<server id>`. Dedicated servers (`hrobot://…`, in an old fork `hcloud://bm-…`) are not accepted. */
export const hetzner: ProviderIdCodec = {
  cloud: 'hetzner',
  scheme: 'hcloud',
  parse(text) {
    if (schemeOf(text) !== 'hcloud') return undefined;
    const id = text.slice('hcloud://'.length);
    return serverId.test(id) ? { instanceId: id } : undefined;
  },
  print({ instanceId: id }) {
    if (!serverId.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(id)}, expected a server's number`);
    return `hcloud://${id}`;
  },
};
