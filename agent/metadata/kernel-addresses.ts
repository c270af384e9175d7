import { isIP } from 'node:net';
import type { LocalInterface } from './source.ts';

/**
 * What the kernel tells of a machine whose platform tells no addresses: the first of each family on each interface. Further ones were added later and may move to another machine
 * (virtual IPs); link-local ones reach nobody. Pure.
 */
export function kernelAddresses(interfaces: readonly LocalInterface[]): string[] {
  return interfaces.flatMap(({ addresses }) =>
    [4, 6].flatMap((family) => firstOf(addresses, family === 6 ? 6 : 4) ?? []),
  );
}

/** The kernel's first address of a family that others can reach. */
export function firstOf(addresses: readonly string[], family: 4 | 6): string | undefined {
  return addresses.find((address) => isIP(address) === family && !/^(fe80:|169\.254\.)/i.test(address));
}
