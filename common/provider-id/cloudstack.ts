import { type ProviderIdCodec, schemeOf } from './codec.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** That of the classic controller, and what Talos writes. */
const schemes: ReadonlySet<string | undefined> = new Set(['external-cloudstack', 'cloudstack']);

/** `external-cloudstack://<VM id>`; `cloudstack://<VM id>` is read, too. */
export const cloudstack: ProviderIdCodec = {
  cloud: 'cloudstack',
  scheme: 'external-cloudstack',
  parse(text) {
    const scheme = schemeOf(text);
    if (!schemes.has(scheme)) return undefined;
    const id = text.slice(`${scheme}://`.length);
    return uuid.test(id) ? { instanceId: id.toLowerCase() } : undefined;
  },
  print({ instanceId: id }) {
    if (!uuid.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(id)}, expected the UUID of a VM`);
    return `external-cloudstack://${id.toLowerCase()}`;
  },
};
