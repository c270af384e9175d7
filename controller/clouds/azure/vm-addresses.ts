import { CloudError } from '../../../common/cloud-error.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { cloud } from './fault.ts';
import type { NetworkResources, ReadOptions } from './network-resources.ts';

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
export function interfacesOf(vm: AnswerFields): readonly InterfaceRef[] {
  const profile = vm.object('properties').optionalObject('networkProfile');
  const refs = (profile?.optionalObjects('networkInterfaces') ?? []).map((ref) => {
    const primary = ref.optionalObject('properties')?.optionalFlag('primary') ?? false;
    return { id: ref.text('id'), primary };
  });
  return refs.toSorted((one, other) => Number(other.primary) - Number(one.primary));
}

/**
 * The addresses of many VMs, by the ids of their first interfaces in lower case, in few calls: the first address of
 * each family of each interface. The others of an interface are pods'. A VM whose interface is missing gets the error.
 * Throws a CloudError.
 */
export async function readAddresses(
  resources: NetworkResources,
  vms: readonly (readonly InterfaceRef[])[],
  options: ReadOptions,
): Promise<readonly (readonly VmAddress[] | CloudError)[]> {
  const interfaces = await resources.read(
    vms.flatMap((refs) => refs.map(({ id }) => id)),
    options,
  );
  const first = new Map([...interfaces].map(([id, one]) => [id, firstOfFamilies(one)]));
  const publicIds = [...first.values()].flatMap((some) => some.flatMap(({ publicId }) => publicId ?? []));
  const publicOnes = await resources.read(publicIds, options);

  return vms.map((refs) => {
    const addresses: VmAddress[] = [];
    for (const { id } of refs) {
      const own = first.get(id.toLowerCase());
      if (own === undefined) return unavailable(`network interface ${id} is not there`);
      for (const { family, internal, publicId } of own) {
        const shown = publicId === undefined ? undefined : publicOnes.get(publicId.toLowerCase());
        if (publicId !== undefined && shown === undefined)
          return unavailable(`public address ${publicId} is not there`);
        // One that is attached to no running VM may have none.
        const external = shown?.optionalObject('properties')?.optionalText('ipAddress');
        addresses.push({ family, internal, external });
      }
    }
    return addresses;
  });
}

interface FirstAddress extends Omit<VmAddress, 'external'> {
  readonly publicId: string | undefined;
}

/** The first IPv4 and the first IPv6 address; the primary configuration comes before the others. */
function firstOfFamilies(one: AnswerFields): readonly FirstAddress[] {
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

function unavailable(message: string): CloudError {
  return new CloudError({ kind: 'Unavailable', cloud, operation: 'lookup', message });
}
