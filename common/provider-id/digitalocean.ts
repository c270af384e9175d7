import { type ProviderIdCodec, schemeOf } from './codec.ts';

const dropletId = /^[1-9]\d*$/;

/** `digitalocean://<droplet id>`; no scheme-less form. */
export const digitalocean: ProviderIdCodec = {
  cloud: 'digitalocean',
  scheme: 'digitalocean',
  parse(text) {
    if (schemeOf(text) !== 'digitalocean') return undefined;
    const id = text.slice('digitalocean://'.length);
    return dropletId.test(id) ? { instanceId: id } : undefined;
  },
  print({ instanceId: id }) {
    if (!dropletId.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(id)}, expected a droplet's number`);
    return `digitalocean://${id}`;
  },
};
