import { isIP } from 'node:net';
import type { LocalInterface } from './source.ts';

/**
 * The kernel's addresses of a machine whose platform lists none: the first of each family on each interface. Other
 * addresses were added later and may move to another machine (virtual IPs). Link-local ones are left out, because other
 * machines cannot use them. Pure.
 */
export function kernelAddresses(interfaces: readonly LocalInterface[]): string[] {
  return interfaces.flatMap(({ addresses }) =>
    [4, 6].flatMap((family) => firstOf(addresses, family === 6 ? 6 : 4) ?? []),
  );
}

/** The kernel's first address of a family that other machines can reach. */
export function firstOf(addresses: readonly string[], family: 4 | 6): string | undefined {
  return addresses.find((address) => isIP(address) === family && !/^(fe80:|169\.254\.)/i.test(address));
}
