import { isCloudError } from '../../common/cloud-error.ts';
import type { Instance } from '../../common/instance.ts';
import { ovirt as providerId } from '../../common/provider-id/ovirt.ts';
import { createAddressList } from './address-list.ts';
import { fieldsOf, invalid } from './fields.ts';
import { kernelAddresses } from './kernel-addresses.ts';
import { isOpenstack } from './openstack.ts';
import { readSeedFolder, readVolume, type Seed } from './seed.ts';
import type { Dmi, SourceKind, SourceOptions } from './source.ts';

const cloud = 'ovirt';
const context = { cloud, operation: 'read /sys/class/dmi/id' };

/**
 * oVirt has no metadata service. The SMBIOS UUID is the id of the VM (the serial number is that of its host, and
 * changes when the VM migrates), the kernel has its addresses, and its cloud-init volume, where it has one, its name.
 */
export const ovirt: SourceKind = {
  cloud,
  detect: isOvirt,
  open(options) {
    const readSeed = createReadSeed(options);
    return { cloud, read: async () => instanceOf(options, await readSeed()) };
  },
};

/** KubeVirt has no vendor `oVirt`, and Red Hat's other platforms have products of their own. */
function isOvirt(dmi: Dmi): boolean {
  if (isOpenstack(dmi)) return false;
  return dmi.sysVendor === 'oVirt' || (dmi.sysVendor === 'Red Hat' && dmi.productName === 'RHEV Hypervisor');
}

/**
 * A VM that was made without cloud-init has none. A volume that cannot be read (one for Ignition, or one that a
 * container may not open) hides names alone, so it is told once and left out.
 */
function createReadSeed({ configDrive, seedVolume, log }: SourceOptions): () => Promise<Seed | undefined> {
  let isTold = false;
  return async () => {
    if (configDrive !== undefined) return readSeedFolder(cloud, configDrive);
    const volume = await seedVolume?.(cloud);
    if (volume === undefined) return undefined;
    try {
      return await readVolume(cloud, volume);
    } catch (error) {
      if (!isCloudError(error)) throw error;
      if (!isTold) log.warn('the cloud-init volume is left out', { cloud, error: error.message });
      isTold = true;
      return undefined;
    }
  };
}

function instanceOf({ dmi, region: flag, interfaces }: SourceOptions, seed: Seed | undefined): Instance {
  const id = providerId.parse(dmi.productUuid ?? '')?.instanceId;
  if (id === undefined) throw invalid(context, 'product_uuid', dmi.productUuid, 'a UUID (only root may read it)');
  const fields = seed && fieldsOf({ cloud, operation: seed.operation }, seed.document);
  const hostname = fields?.optionalText('hostname') ?? fields?.optionalText('local-hostname');
  const zone = fields?.optionalText('zone');
  const region = fields?.optionalText('region') ?? flag;
  const type = fields?.optionalText('instance-type');
  const addresses = createAddressList();
  addresses.add('Hostname', hostname);
  for (const address of kernelAddresses(interfaces?.() ?? [])) addresses.add('InternalIP', address);
  addresses.add('ExternalDNS', fields?.optionalText('public-hostname'));
  return {
    cloud,
    id,
    providerID: providerId.print({ instanceId: id }),
    incarnation: id,
    ...(hostname === undefined ? {} : { name: hostname }),
    ...(zone === undefined ? {} : { zone }),
    ...(region === undefined ? {} : { region }),
    ...(type === undefined ? {} : { type }),
    addresses: addresses.all,
  };
}
