import ipaddr from 'ipaddr.js';

export type Family = 4 | 6;

/** A range of addresses. */
export interface Cidr {
  readonly family: Family;
  /** Length of the prefix in bits. */
  readonly prefix: number;
  /** First and last address, as numbers. */
  readonly first: bigint;
  readonly last: bigint;
  /** The canonical spelling: host bits cleared, IPv6 as in RFC 5952. */
  readonly text: string;
}

export function bitsOf(family: Family): number {
  return family === 4 ? 32 : 128;
}

function numberOf(bytes: readonly number[]): bigint {
  return bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

function bytesOf(address: bigint, family: Family): number[] {
  const bytes: number[] = [];
  for (let rest = address, at = 0; at < bitsOf(family) / 8; at += 1, rest >>= 8n) bytes.unshift(Number(rest & 255n));
  return bytes;
}

/** The range with this prefix length that contains an address. */
export function cidrAt(family: Family, address: bigint, prefix: number): Cidr {
  const size = 1n << BigInt(bitsOf(family) - prefix);
  const first = address - (address % size);
  const start = ipaddr.fromByteArray(bytesOf(first, family));
  const shown = start instanceof ipaddr.IPv6 ? start.toRFC5952String() : start.toString();
  return { family, prefix, first, last: first + size - 1n, text: `${shown}/${prefix}` };
}

/** Parses `10.0.0.0/16` or `2001:db8::/48`; host bits are cleared. Undefined when the text is no CIDR. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/');
  const [address, length] = [text.slice(0, Math.max(slash, 0)), text.slice(slash + 1)];
  if (slash < 0 || !/^(0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const v6 = address.includes(':');
  // Looser spellings of IPv4 (`10.1`, octal) mean different addresses to different programs.
  if (v6 ? !ipaddr.IPv6.isValid(address) || address.includes('%') : !ipaddr.IPv4.isValidFourPartDecimal(address))
    return undefined;
  const family = v6 ? 6 : 4;
  const prefix = Number(length);
  return prefix <= bitsOf(family) ? cidrAt(family, numberOf(ipaddr.parse(address).toByteArray()), prefix) : undefined;
}

export function contains(range: Cidr, family: Family, address: bigint): boolean {
  return range.family === family && range.first <= address && address <= range.last;
}

export function overlap(a: Cidr, b: Cidr): boolean {
  return a.family === b.family && a.first <= b.last && b.first <= a.last;
}

/**
 * Upstream's rule for the routes that concern a cluster: the first or the last address of the destination is in one of
 * the cluster's ranges.
 */
export function reaches(clusterCidrs: readonly Cidr[], { family, first, last }: Cidr): boolean {
  return clusterCidrs.some((range) => contains(range, family, first) || contains(range, family, last));
}

/** `parseCidr` with a cache: the same few thousand ranges are parsed again and again. */
export function memoizedCidrParser(capacity = 100_000): (text: string) => Cidr | undefined {
  const cache = new Map<string, Cidr | undefined>();
  return (text) => {
    if (cache.has(text)) return cache.get(text);
    if (cache.size >= capacity) cache.clear();
    const cidr = parseCidr(text);
    cache.set(text, cidr);
    return cidr;
  };
}
