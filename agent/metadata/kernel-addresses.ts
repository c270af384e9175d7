import { isIP } from 'node:net';
import type { LocalInterface } from './source.ts';

/**
 * The kernel's addresses of a machine whose platform lists none: the oldest of each family on each interface. Other
 * addresses were added later and may move to another machine (virtual IPs). Link-local ones are left out, because other
 * machines cannot use them. Pure.
 */
export function kernelAddresses(interfaces: readonly LocalInterface[]): string[] {
  return interfaces.flatMap(({ addresses }) =>
    [4, 6].flatMap((family) => oldestOf(addresses, family === 6 ? 6 : 4) ?? []),
  );
}

/**
 * The address of a family that the interface has had for longest, of those that other machines can reach. Linux puts
 * new ones of IPv4 behind the others, and of IPv6 before them (`inet_insert_ifa`, `ipv6_link_dev_addr`).
 */
export function oldestOf(addresses: readonly string[], family: 4 | 6): string | undefined {
  const reachable = addresses.filter((one) => isIP(one) === family && !/^(fe80:|169\.254\.)/i.test(one));
  return reachable.at(family === 4 ? 0 : -1);
}
