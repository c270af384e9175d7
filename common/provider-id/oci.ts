import { type ProviderIdCodec, schemeOf } from './codec.ts';

/** `ocid1.<resource type>.<realm>.[region][.future use].<unique id>`, for instances. */
const ocid = /^ocid1\.instance\.[a-z0-9]+\.[a-z0-9-]*(\.[a-z0-9-]*)?\.[a-z0-9]+$/;

/** `oci://<OCID of the instance>`; a bare OCID is accepted, because upstream documents it for the kubelet. */
export const oci: ProviderIdCodec = {
  cloud: 'oci',
  scheme: 'oci',
  parse(text) {
    const scheme = schemeOf(text);
    if (scheme !== undefined && scheme !== 'oci') return undefined;
    const id = scheme === undefined ? text : text.slice('oci://'.length);
    return ocid.test(id) ? { instanceId: id } : undefined;
  },
  print({ instanceId: id }) {
    if (!ocid.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(id)}, expected an instance's OCID`);
    return `oci://${id}`;
  },
};
