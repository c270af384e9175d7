import { createHash } from 'node:crypto';
import {
  type FakeConfiguration,
  type FakeInterface,
  type FakePublicAddress,
  type FakeSet,
  type FakeVm,
  location,
  subscription,
} from './fake-state.ts';

/** Everything but networks, by ids in lower case. */
export interface FakeInventory {
  readonly vms: Map<string, FakeVm>;
  readonly sets: Map<string, FakeSet>;
  readonly publicAddresses: Map<string, FakePublicAddress>;
  /** Names in lower case. */
  readonly groups: Set<string>;
  /** Of all VMs so far, for addresses and ids. */
  counter: number;
}

export interface VmOptions {
  readonly group?: string;
  readonly set?: FakeSet;
  readonly zone?: string;
  /** Address families; the first is that of the primary configuration. */
  readonly families?: readonly ('IPv4' | 'IPv6')[];
  /** Each interface has a public address for each family. */
  readonly isPublic?: boolean;
  /** Default 1. */
  readonly interfaces?: number;
}

export function createInventory(): FakeInventory {
  return { vms: new Map(), sets: new Map(), publicAddresses: new Map(), groups: new Set(['rg']), counter: 0 };
}

const providers = (group: string) => `/subscriptions/${subscription}/resourceGroups/${group}/providers`;

export function addSet(inventory: FakeInventory, name: string, mode: FakeSet['mode'], group: string): FakeSet {
  const id = `${providers(group)}/Microsoft.Compute/virtualMachineScaleSets/${name}`;
  const set: FakeSet = { id, group, name, mode, prefix: name, last: 0, pools: [], version: 1 };
  inventory.sets.set(id.toLowerCase(), set);
  return set;
}

/** In a uniform scale set the name is what the set makes of it. */
export function addVm(inventory: FakeInventory, ownName: string, options: VmOptions): FakeVm {
  const { group = options.set?.group ?? 'rg', set, zone = '1' } = options;
  inventory.counter += 1;
  const number = inventory.counter;
  const isUniform = set?.mode === 'Uniform';
  if (set !== undefined) set.last += 1;
  const instanceId = isUniform ? String(set.last) : undefined;
  const name = isUniform ? `${set.name}_${instanceId}` : ownName;
  const id = isUniform
    ? `${set.id}/virtualMachines/${instanceId}`
    : `${providers(group)}/Microsoft.Compute/virtualMachines/${name}`;
  const computerName = isUniform ? `${set.prefix}${set.last.toString(36).padStart(6, '0')}` : ownName;
  const hash = createHash('sha256').update(`vm ${number}`).digest('hex');
  const vmId = hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5');
  const vm: FakeVm = {
    id,
    group,
    name,
    set,
    instanceId,
    vmId,
    computerName,
    size: 'Standard_D2s_v5',
    power: 'running',
    provisioning: 'Succeeded',
    zones: zone === '' ? undefined : [zone],
    faultDomain: zone === '' && set !== undefined ? 1 : undefined,
    interfaces: Array.from({ length: options.interfaces ?? 1 }, (_, at) =>
      interfaceOf(inventory, {
        ...options,
        owner: isUniform ? id : undefined,
        group,
        name: `${computerName}-nic-${at}`,
        at,
        number,
      }),
    ),
  };
  inventory.vms.set(id.toLowerCase(), vm);
  return vm;
}

interface InterfaceParts extends VmOptions {
  readonly owner: string | undefined;
  readonly group: string;
  readonly name: string;
  readonly at: number;
  readonly number: number;
}

function interfaceOf(inventory: FakeInventory, parts: InterfaceParts): FakeInterface {
  const { owner, group, name, at, number, families = ['IPv4'], isPublic = false } = parts;
  const own = owner === undefined ? `nic-${name}` : `nic-${at}`;
  const id = `${owner ?? `${providers(group)}/Microsoft.Network`}/networkInterfaces/${own}`;
  const configurations = families.map((family, index): FakeConfiguration => {
    const configuration = `ipconfig${index + 1}`;
    const suffix = `${number}-${at}-${index}`;
    const publicName = `pip-${suffix}`;
    const publicId =
      owner === undefined
        ? `${providers(group)}/Microsoft.Network/publicIPAddresses/${publicName}`
        : `${id}/ipConfigurations/${configuration}/publicIPAddresses/${publicName}`;
    const [high, low] = [number >> 8, number & 255];
    if (isPublic) {
      const address = family === 'IPv4' ? `198.51.${high + at * 10}.${low}` : `2001:db8:ff::${number.toString(16)}`;
      inventory.publicAddresses.set(publicId.toLowerCase(), { id: publicId, name: publicName, address, family });
    }
    return {
      name: configuration,
      primary: index === 0,
      family,
      publicId: isPublic ? publicId : undefined,
      address: family === 'IPv4' ? `10.${at}.${high}.${low}` : `fd00:${at + 1}::${number.toString(16)}`,
      pools: at > 0 ? [] : (parts.set?.pools ?? []).filter((id) => id.endsWith('-IPv6') === (family === 'IPv6')),
    };
  });
  return { id, name: own, primary: at === 0, configurations, version: 1 };
}

export function deleteVm({ vms, publicAddresses }: FakeInventory, id: string): void {
  const vm = vms.get(id.toLowerCase());
  for (const { configurations } of vm?.interfaces ?? [])
    for (const { publicId } of configurations)
      if (publicId !== undefined) publicAddresses.delete(publicId.toLowerCase());
  vms.delete(id.toLowerCase());
}

export const zoneOf = ({ zones }: FakeVm) => (zones === undefined ? '' : `${location}-${zones[0]}`);
