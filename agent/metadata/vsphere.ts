import type { Instance } from '../../common/instance.ts';
import { vsphere as providerId } from '../../common/provider-id/vsphere.ts';
import { swapped } from '../../common/smbios-uuid.ts';
import { createAddressList } from './address-list.ts';
import { fieldsOf, invalid } from './fields.ts';
import { readGuestinfo } from './guestinfo.ts';
import { kernelAddresses } from './kernel-addresses.ts';
import { isOpenstack } from './openstack.ts';
import { readTopLevel } from './plain-yaml.ts';
import type { Dmi, SourceKind, SourceOptions } from './source.ts';

const cloud = 'vsphere';
const context = { cloud, operation: 'read /sys/class/dmi/id' };

/**
 * vSphere has no metadata service. The firmware identifies the VM, the kernel has its addresses, and guestinfo its host
 * name, if a program of VMware's tools is installed. Zone, region (except by `--region`) and type are only known to
 * vCenter.
 */
export const vsphere: SourceKind = {
  cloud,
  detect: (dmi) => /vmware/i.test(dmi.productName ?? '') && !isOpenstack(dmi),
  open(options) {
    const hostname = once((signal) => hostnameOf(options, signal));
    return { cloud, read: async (signal) => instanceOf(options, await hostname(signal)) };
  },
};

/**
 * Read once: it is set before the VM boots, and starting a program every minute would cost more than everything else.
 */
function once(
  ask: (signal: AbortSignal) => Promise<string | undefined>,
): (signal: AbortSignal) => Promise<string | undefined> {
  let answer: Promise<string | undefined> | undefined;
  return (signal) => {
    answer ??= ask(signal).catch(() => undefined);
    return answer;
  };
}

async function hostnameOf({ guestinfo }: SourceOptions, signal: AbortSignal): Promise<string | undefined> {
  const text = guestinfo && (await readGuestinfo(guestinfo, 'metadata', signal));
  if (text === undefined) return undefined;
  const metadata = { cloud, operation: 'info-get guestinfo.metadata' };
  const fields = fieldsOf(metadata, readTopLevel(metadata, text));
  return fields.optionalText('local-hostname') ?? fields.optionalText('hostname');
}

function instanceOf({ dmi, region, interfaces }: SourceOptions, hostname: string | undefined): Instance {
  const id = biosUuid(dmi);
  const addresses = createAddressList();
  addresses.add('Hostname', hostname);
  for (const address of kernelAddresses(interfaces?.() ?? [])) addresses.add('InternalIP', address);
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id }),
    incarnation: id,
    ...(hostname === undefined ? {} : { name: hostname }),
    ...(region === undefined ? {} : { region }),
    addresses: addresses.all,
  };
}

/**
 * The VM's BIOS uuid in vCenter's byte order. The serial number contains its bytes in order. `product_uuid` may have
 * the first three groups swapped, depending on the version of SMBIOS, so it can only confirm the uuid.
 */
function biosUuid({ productSerial, productUuid }: Dmi): string {
  if (productSerial === undefined) {
    throw invalid(context, 'product_serial', undefined, 'VMware-… (only root may read it)');
  }
  const bytes = /^VMware-((?:[0-9a-f]{2}[ -]){15}[0-9a-f]{2})$/i.exec(productSerial)?.[1];
  if (bytes === undefined) throw invalid(context, 'product_serial', productSerial, 'VMware- and 16 bytes in hex');
  const hex = bytes.replace(/[ -]/g, '').toLowerCase();
  const uuid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  if (productUuid !== undefined && productUuid !== uuid && productUuid !== swapped(uuid)) {
    throw invalid(context, 'product_uuid', productUuid, `${uuid} in either byte order, as the serial number has it`);
  }
  return uuid;
}
