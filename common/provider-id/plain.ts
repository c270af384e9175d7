import type { ProviderIdCodec } from './codec.ts';

const plainId = /^[\x21-\x7e]+$/;

/**
 * `NAME://ID`, for a cloud that is no part of Mooring: the scheme is the cloud's name, everything behind it is the
 * instance's id, and an id has one spelling.
 */
export function plainCodec(name: string): ProviderIdCodec {
  const prefix = `${name}://`;
  return {
    cloud: name,
    scheme: name,
    parse(text) {
      const id = text.slice(prefix.length);
      return text.startsWith(prefix) && plainId.test(id) ? { instanceId: id } : undefined;
    },
    print({ instanceId: id }) {
      if (!plainId.test(id))
        throw new RangeError(`instanceId: ${JSON.stringify(id)}, expected printable ASCII without blanks`);
      return prefix + id;
    },
    comparable: (id) => id,
  };
}
