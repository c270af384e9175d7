import ipaddr from 'ipaddr.js';
import { normalCidr as normalised } from '../../ip-address.ts';

/** An address is the range of that address alone. */
function rangeOf(text: string): readonly [ipaddr.IPv4 | ipaddr.IPv6, number] | undefined {
  if (ipaddr.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (!ipaddr.isValid(text)) return undefined;
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

/** One text for one range; Neutron keeps what it was given. Undefined for what is none. */
export function normalCidr(text: string): string | undefined {
  const range = rangeOf(text);
  return range && normalised(`${range[0]}/${range[1]}`);
}

/** Whether every address of `inner` is in `outer`. */
export function covers(outer: string, inner: string): boolean {
  const [wide, narrow] = [rangeOf(outer), rangeOf(inner)];
  if (wide === undefined || narrow === undefined || wide[0].kind() !== narrow[0].kind()) return false;
  return wide[1] <= narrow[1] && narrow[0].match(wide[0], wide[1]);
}

export function sameAddress(one: string, other: string): boolean {
  return one === other || (normalCidr(one) ?? one) === (normalCidr(other) ?? other);
}

export function isIpv6(text: string): boolean {
  return text.includes(':');
}
