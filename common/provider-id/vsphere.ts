import { swapped } from '../smbios-uuid.ts';
import { type ProviderIdCodec, schemeOf } from './codec.ts';

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * `vsphere://<BIOS uuid>` in vCenter's byte order and lower case; upper case and surrounding blanks are accepted, as in
 * upstream's controller. A uuid from `product_uuid` may have the other byte order: upstream's controller tries both,
 * and both name one instance here.
 */
export const vsphere: ProviderIdCodec = {
  cloud: 'vsphere',
  scheme: 'vsphere',
  parse(text) {
    if (schemeOf(text) !== 'vsphere') return undefined;
    const id = text.slice('vsphere://'.length).trim().toLowerCase();
    return uuid.test(id) ? { instanceId: id } : undefined;
  },
  print({ instanceId }) {
    const id = instanceId.toLowerCase();
    if (!uuid.test(id)) throw new RangeError(`instanceId: ${JSON.stringify(instanceId)}, expected a BIOS uuid`);
    return `vsphere://${id}`;
  },
  comparable(instanceId) {
    const id = instanceId.toLowerCase();
    const other = swapped(id);
    return id < other ? id : other;
  },
};
