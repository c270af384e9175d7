import { swapped } from '../smbios-uuid.ts';
import { type ProviderIdCodec, schemeOf } from './codec.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const written = /^(?:ovirt:\/\/\/?|ovirt-cloud-provider:\/\/)?([^/]+)$/;

/**
 * `ovirt://<VM id>`. Also accepted: `ovirt:///<VM id>` of the controller that was part of Kubernetes, and
 * `ovirt-cloud-provider://<VM id>` and the bare id of its successor. The id is the SMBIOS UUID of the guest, which
 * firmware may show in the other byte order: both name one VM.
 */
export const ovirt: ProviderIdCodec = {
  cloud: 'ovirt',
  scheme: 'ovirt',
  parse(text) {
    const scheme = schemeOf(text);
    if (scheme !== undefined && scheme !== 'ovirt' && scheme !== 'ovirt-cloud-provider') return undefined;
    const id = written.exec(text)?.[1]?.toLowerCase() ?? '';
    return uuid.test(id) ? { instanceId: id } : undefined;
  },
  print({ instanceId }) {
    const id = instanceId.toLowerCase();
    if (!uuid.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(instanceId)}, expected the id of a VM`);
    return `ovirt://${id}`;
  },
  comparable(instanceId) {
    const id = instanceId.toLowerCase();
    const other = swapped(id);
    return id < other ? id : other;
  },
};
