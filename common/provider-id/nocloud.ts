import { type ProviderIdCodec, schemeOf } from './codec.ts';

/**
 * Schemes of platforms whose machines have no metadata service, beside `nocloud` itself. The list is closed: a Node of any other platform is not this cloud's, whoever else serves it.
 */
const schemes: ReadonlySet<string | undefined> = new Set([
  'nocloud',
  'proxmox',
  'ovirt',
  'hrobot',
  'metal3',
  'baremetalhost',
  'maas',
  'libvirt',
  'kubevirt',
  'harvester',
]);

/** A providerID that a person wrote down for a machine of no known cloud: `nocloud://…`, `proxmox://…`, `hrobot://…` and their like. All of it is the instance's id. */
export const nocloud: ProviderIdCodec = {
  cloud: 'nocloud',
  scheme: 'nocloud',
  parse(text) {
    return schemes.has(schemeOf(text)) && /^[a-z0-9]+:\/\/\S*[^/\s]$/.test(text) ? { instanceId: text } : undefined;
  },
  print({ instanceId }) {
    if (nocloud.parse(instanceId) === undefined) {
      const expected = `${[...schemes].join('://, ')}:// and an id`;
      throw new RangeError(`instanceId: ${JSON.stringify(instanceId)}, expected one of ${expected}`);
    }
    return instanceId;
  },
};
