import ipaddr from 'ipaddr.js';

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
  if (range === undefined) return undefined;
  const [address, bits] = range;
  const cidr = `${address.toString()}/${bits}`;
  const network =
    address.kind() === 'ipv4' ? ipaddr.IPv4.networkAddressFromCIDR(cidr) : ipaddr.IPv6.networkAddressFromCIDR(cidr);
  const shown = network instanceof ipaddr.IPv6 ? network.toRFC5952String() : network.toString();
  return `${shown}/${bits}`;
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
