import ipaddr from 'ipaddr.js';
import type { NodeAddress } from '../../../common/instance.ts';
import type { Cidr } from '../gcfg.ts';
import type { Family, Role } from './config.ts';

/** One address that VMware Tools report, and the name of the network that its interface is in. */
export interface GuestAddress {
  readonly address: string;
  readonly network: string;
}

const localRanges: ReadonlySet<string> = new Set(['loopback', 'linkLocal', 'unspecified', 'multicast', 'broadcast']);

/**
 * The addresses of a Node as the classic controller chooses them: of each family at most one InternalIP and one
 * ExternalIP, by subnet, else by the name of the network; where neither is found that way, the first address is both.
 * Undefined when a family has none. Pure.
 *
 * @param order addresses that go first, as the VM's own network configuration lists them
 */
export function chooseAddresses(
  reported: readonly GuestAddress[],
  { families, roles, order }: { families: readonly Family[]; roles: readonly Role[]; order: readonly string[] },
): readonly NodeAddress[] | undefined {
  const rank = ({ address }: GuestAddress) => (order.includes(address) ? order.indexOf(address) : order.length);
  const candidates = reported
    .flatMap((one) => (ipaddr.isValid(one.address) ? { ...one, ip: ipaddr.parse(one.address) } : []))
    .filter(({ ip }) => !localRanges.has(ip.range()))
    .toSorted((one, other) => rank(one) - rank(other));
  const named = roles.flatMap(({ network }) => network?.toLowerCase() ?? []);
  const isNamed = ({ network }: GuestAddress) => named.includes(network.toLowerCase());
  // Then the names are wrong, and the first address would be any.
  if (named.length === roles.length && !reported.some(isNamed)) return undefined;
  const addresses: NodeAddress[] = [];
  for (const family of families) {
    const byRole = roles.map((role) => {
      const allowed = candidates.filter(
        ({ ip }) => ip.kind() === family && !role.excluded.some((cidr) => holds(cidr, ip)),
      );
      const inSubnet = role.subnets.flatMap((cidr) => allowed.filter(({ ip }) => holds(cidr, ip)));
      const inNetwork = allowed.filter(({ network }) => network.toLowerCase() === role.network?.toLowerCase());
      return { type: role.type, matched: inSubnet[0] ?? inNetwork[0], first: allowed[0] };
    });
    const anyMatched = byRole.some(({ matched }) => matched !== undefined);
    const chosen = byRole.flatMap(({ type, matched, first }) => {
      const address = (anyMatched ? matched : first)?.address;
      return address === undefined ? [] : [{ type, address }];
    });
    if (chosen.length === 0) return undefined;
    addresses.push(...chosen);
  }
  return addresses;
}

function holds([range, bits]: Cidr, ip: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return range.kind() === ip.kind() && ip.match([range, bits]);
}
