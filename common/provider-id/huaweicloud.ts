import { type ProviderIdCodec, schemeOf } from './codec.ts';

const id = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * `huaweicloud://<server id>`; a bare server id is accepted, because Huawei's own controller writes it at first
 * registration.
 */
export const huaweicloud: ProviderIdCodec = {
  cloud: 'huaweicloud',
  scheme: 'huaweicloud',
  parse(text) {
    const scheme = schemeOf(text);
    if (scheme !== undefined && scheme !== 'huaweicloud') return undefined;
    const rest = scheme === undefined ? text : text.slice('huaweicloud://'.length);
    return id.test(rest) ? { instanceId: rest } : undefined;
  },
  print({ instanceId }) {
    if (!id.test(instanceId)) throw new RangeError(`instanceId: ${JSON.stringify(instanceId)}, expected a server uuid`);
    return `huaweicloud://${instanceId}`;
  },
};
