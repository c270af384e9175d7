import { type ProviderIdCodec, schemeOf } from './codec.ts';

const shape = /^([a-z]{2,}(?:-[a-z0-9]+)+)\.(i-[0-9a-z]+)$/;

/**
 * `<region>.<instance id>`, without a scheme, as upstream's controller requires it from the kubelet; the prefix
 * `alicloud://` is accepted, too.
 */
export const alibaba: ProviderIdCodec = {
  cloud: 'alibaba',
  scheme: 'alicloud',
  parse(text) {
    const scheme = schemeOf(text);
    if (scheme !== undefined && scheme !== 'alicloud') return undefined;
    const found = shape.exec(scheme === undefined ? text : text.slice('alicloud://'.length));
    return found === null ? undefined : { instanceId: found[2]!, region: found[1]! };
  },
  print({ instanceId, region }) {
    const text = `${region}.${instanceId}`;
    if (!shape.test(text))
      throw new RangeError(`region and instanceId: ${JSON.stringify(text)}, expected <region>.i-…`);
    return text;
  },
};
