import type { VirtualMachine, VirtualMachineScaleSetVM } from '@azure/arm-compute';
import type { NetworkInterface } from '@azure/arm-network';
import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Answered } from './answered.ts';
import { cloud } from './fault.ts';
import type { NetworkResources, ReadOptions } from './network-resources.ts';

/** One that stands alone or in a flexible scale set, or an instance of a uniform one. */
export type Vm = Answered<VirtualMachine & VirtualMachineScaleSetVM>;

/** What a VM says of one of its network interfaces. */
export interface InterfaceRef {
  readonly id: string;
  readonly primary: boolean;
}

/** An address of a network interface, and the public one that leads to it. */
export interface VmAddress {
  readonly family: 'IPv4' | 'IPv6';
  readonly internal: string;
  readonly external: string | undefined;
}

/** The interfaces of a VM, the primary one first. */
export function interfacesOf(vm: Vm): readonly InterfaceRef[] {
  const profile = vm.object('properties').optionalObject('networkProfile');
  const refs = (profile?.optionalObjects('networkInterfaces') ?? []).map((ref) => {
    const primary = ref.optionalObject('properties')?.optionalFlag('primary') ?? false;
    return { id: ref.text('id'), primary };
  });
  return refs.toSorted((one, other) => Number(other.primary) - Number(one.primary));
}

export interface AddressOptions extends ReadOptions {
  /** No public address is read, and none is in the answer. Default: no. */
  readonly internalOnly?: boolean;
}

/**
 * The addresses of many VMs in the order of the VMs, in few calls: the first address of each family of each interface.
 * The others of an interface are pods'. A VM of which something is missing, malformed or cannot be read gets the error
 * in its place.
 */
export async function readAddresses(
  resources: NetworkResources,
  vms: readonly Vm[],
  { internalOnly = false, ...options }: AddressOptions,
): Promise<readonly (readonly VmAddress[] | CloudError)[]> {
  const refs = vms.map((vm) => attempt(() => interfacesOf(vm)));
  const ids = refs.flatMap((some) => (isCloudError(some) ? [] : some.map(({ id }) => id)));
  const interfaces = await resources.read(ids, options);
  const first = new Map(
    [...interfaces].map(([id, one]) => [id, isCloudError(one) ? one : attempt(() => firstOfFamilies(one))]),
  );
  const publicIds = [...first.values()].flatMap((some) =>
    isCloudError(some) || internalOnly ? [] : some.flatMap(({ publicId }) => publicId ?? []),
  );
  const publicOnes = await resources.read(publicIds, options);

  function addressesOf(id: string): readonly VmAddress[] {
    const own = first.get(id.toLowerCase()) ?? missing(`network interface ${id}`);
    if (isCloudError(own)) throw own;
    return own.map(({ family, internal, publicId }) => {
      if (publicId === undefined || internalOnly) return { family, internal, external: undefined };
      const shown = publicOnes.get(publicId.toLowerCase());
      if (shown === undefined) throw missing(`public address ${publicId}`);
      if (isCloudError(shown)) throw shown;
      // One of a deallocated VM may have no address.
      return { family, internal, external: shown.optionalObject('properties')?.optionalText('ipAddress') };
    });
  }
  return refs.map((some) => (isCloudError(some) ? some : attempt(() => some.flatMap(({ id }) => addressesOf(id)))));
}

function attempt<T>(read: () => T): T | CloudError {
  try {
    return read();
  } catch (error) {
    if (isCloudError(error)) return error;
    throw error;
  }
}

interface FirstAddress extends Omit<VmAddress, 'external'> {
  readonly publicId: string | undefined;
}

/** The first IPv4 and the first IPv6 address; the primary configuration comes before the others. */
function firstOfFamilies(one: Answered<NetworkInterface>): readonly FirstAddress[] {
  const configurations = one
    .object('properties')
    .optionalObjects('ipConfigurations')
    .map((each) => {
      const properties = each.object('properties');
      return {
        primary: properties.optionalFlag('primary') ?? false,
        family: properties.optionalText('privateIPAddressVersion') === 'IPv6' ? ('IPv6' as const) : ('IPv4' as const),
        internal: properties.optionalText('privateIPAddress'),
        publicId: properties.optionalObject('publicIPAddress')?.text('id'),
      };
    });
  const ordered = configurations.toSorted((a, b) => Number(b.primary) - Number(a.primary));
  return (['IPv4', 'IPv6'] as const).flatMap((family) => {
    const found = ordered.find((each) => each.family === family && each.internal !== undefined);
    return found === undefined ? [] : [{ family, internal: found.internal!, publicId: found.publicId }];
  });
}

function missing(what: string): CloudError {
  return new CloudError({ kind: 'Unavailable', cloud, operation: 'lookup', message: `${what} is not there` });
}
