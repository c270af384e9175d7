import ipaddr from 'ipaddr.js';
import type { NodeAddress, NodeAddressType } from '../../../common/instance.ts';
import type { Cidr } from '../gcfg.ts';
import type { NetworkingOptions } from './config.ts';
import type { Server, ServerAddress } from './server.ts';

/**
 * One server's addresses in Neutron: those of its ports, in Neutron's order, and those of the subports of trunks by
 * network name.
 */
export interface ServerPorts {
  /** Fixed addresses of ACTIVE ports. */
  readonly active: readonly string[];
  readonly subports: readonly { readonly network: string; readonly address: string }[];
}

/**
 * A node's addresses in upstream's order: fixed addresses of ACTIVE ports, access addresses, the hostname of the
 * metadata, then Nova's list by network name, subports of trunks included. `public-network-name` makes a network's
 * addresses external only, `internal-network-name` drops those of every other network. Pure.
 */
export function addressesOf(server: Server, ports: ServerPorts, options: NetworkingOptions): readonly NodeAddress[] {
  let addresses: NodeAddress[] = [];
  const add = (type: NodeAddressType, address: string | undefined) => {
    if (address === undefined || (options.ipv6SupportDisabled && type !== 'Hostname' && address.includes(':'))) return;
    if (addresses.some((known) => known.type === type && known.address === address)) return;
    addresses.push({ type, address });
  };
  const remove = (address: string) => {
    addresses = addresses.filter((known) => known.address !== address);
  };
  for (const address of ports.active) add('InternalIP', address);
  add('ExternalIP', server.accessIPv4);
  add('ExternalIP', server.accessIPv6);
  add('Hostname', server.metadata['hostname'] || undefined);

  const networks = new Map<string, ServerAddress[]>([...server.addresses].map(([name, list]) => [name, [...list]]));
  for (const { network, address } of ports.subports) {
    const list = networks.get(network) ?? [];
    list.push({ address, kind: 'fixed' });
    networks.set(network, list);
  }
  const { publicNetworkNames, internalNetworkNames } = options;
  // By code unit, as Go sorts ASCII names.
  for (const network of [...networks.keys()].sort()) {
    for (const { address, kind } of networks.get(network) ?? []) {
      if (kind === 'floating') add('ExternalIP', address);
      else if (publicNetworkNames.includes(network)) {
        remove(address);
        add('ExternalIP', address);
      } else if (internalNetworkNames.length === 0 || internalNetworkNames.includes(network))
        add('InternalIP', address);
      else remove(address);
    }
  }
  return options.addressSortOrder.length === 0 ? addresses : sorted(addresses, options.addressSortOrder);
}

/** By the first CIDR that holds it; ascending inside one CIDR; what none holds keeps its order behind. */
function sorted(addresses: readonly NodeAddress[], order: readonly Cidr[]): readonly NodeAddress[] {
  const ranked = addresses.map((address) => {
    const ip = ipaddr.isValid(address.address) ? ipaddr.parse(address.address) : undefined;
    const at =
      ip === undefined ? -1 : order.findIndex(([range, bits]) => range.kind() === ip.kind() && ip.match([range, bits]));
    return { address, rank: at < 0 ? order.length : at, bytes: at < 0 ? [] : (ip?.toByteArray() ?? []) };
  });
  return ranked
    .toSorted((one, other) => one.rank - other.rank || compareBytes(one.bytes, other.bytes))
    .map(({ address }) => address);
}

function compareBytes(one: readonly number[], other: readonly number[]): number {
  for (const [at, byte] of one.entries()) {
    const difference = byte - (other[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
