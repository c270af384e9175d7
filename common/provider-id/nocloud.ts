import { type ProviderIdCodec, schemeOf } from './codec.ts';

/**
 * Schemes of platforms whose machines have no metadata service, besides `nocloud` itself. The list is closed: Nodes of
 * all other platforms are not of this cloud.
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

/**
 * A providerID that a person assigned to a machine without a cloud: `nocloud://…`, `proxmox://…` and
 * others. The whole text is the instance's id.
 */
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
