import ipaddr from 'ipaddr.js';
import type { NodeAddress } from '../../common/instance.ts';

const hostName = /^[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?\.?$/;
/** Ranges of ipaddr.js that contain no address of a machine. */
const neverANode: ReadonlySet<string> = new Set(['unspecified', 'broadcast', 'multicast', 'loopback']);

/** What was expected instead of this address; undefined when it is valid in a Node's status. */
export function addressFault({ type, address }: NodeAddress): string | undefined {
  if (type !== 'InternalIP' && type !== 'ExternalIP') {
    return hostName.test(address) ? undefined : 'a host name';
  }
  // Only the common spellings: ipaddr.js also reads 0x7f.1 and the like.
  const plain = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
  if (!plain) return 'an IPv4 or IPv6 address';
  return neverANode.has(ipaddr.process(address).range()) ? 'an address that a machine can have' : undefined;
}
