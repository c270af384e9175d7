import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** One text for one address, as a Service's status shows it; what is none is left as it is. */
export function canonical(ip: string): string {
  return ipaddr.isValid(ip) ? ipaddr.parse(ip).toString() : ip;
}

/** Whether two texts are one address, in any spelling. */
export function sameAddress(a: string, b: string): boolean {
  return a === b || (isIP(a) === 6 && isIP(b) === 6 && canonical(a) === canonical(b));
}

/** One text for one range, without host bits; undefined for what is none. */
export function normalCidr(text: string): string | undefined {
  if (!ipaddr.isValidCIDR(text)) return undefined;
  const family = ipaddr.IPv4.isValidCIDR(text) ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${family.networkAddressFromCIDR(text)}/${ipaddr.parseCIDR(text)[1]}`;
}
