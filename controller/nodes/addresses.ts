import ipaddr from 'ipaddr.js';
import type { AddressView } from '../model/node-view.ts';

/**
 * The canonical spelling of an address: RFC 5952 for IPv6. IPv4, as the API server accepts it, has only one. Text that
 * is no address is returned unchanged.
 */
export function canonicalAddress(text: string): string {
  // A cheap test first: ipaddr.js takes 20 microseconds to reject a host name.
  if (!text.includes(':') || !ipaddr.IPv6.isValid(text)) return text;
  return ipaddr.parse(text).toString();
}

/** The same for one address of one type, however it is spelt. */
export function addressKey({ type, address }: AddressView): string {
  return `${type} ${canonicalAddress(address)}`;
}

function isFourPart(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text);
}

export type ProvidedIPs =
  | { readonly ok: true; readonly ips: readonly string[] }
  | { readonly ok: false; readonly message: string };

/**
 * Parses alpha.kubernetes.io/provided-node-ip as strictly as upstream: one address, or two of different families, no
 * spaces, and neither of a pair unspecified.
 */
export function parseProvidedNodeIP(text: string): ProvidedIPs {
  const parts = text.split(',');
  const wrong = (message: string): ProvidedIPs => ({ ok: false, message: `${JSON.stringify(text)}: ${message}` });
  if (parts.length > 2) return wrong('expected one address, or two of different families');
  for (const part of parts) {
    if (!isFourPart(part) && !(part.includes(':') && ipaddr.IPv6.isValid(part) && !part.includes('%'))) {
      return wrong(`${JSON.stringify(part)} is not an IP address`);
    }
  }
  if (parts.length === 2) {
    if (parts.every((part) => part.includes(':')) || parts.every((part) => !part.includes(':'))) {
      return wrong('expected two addresses of different families');
    }
    if (parts.some((part) => ipaddr.parse(part).range() === 'unspecified')) {
      return wrong('a pair may not hold an unspecified address');
    }
  }
  return { ok: true, ips: parts.map(canonicalAddress) };
}

/** Drops later duplicates of (type, address), which the API server refuses. */
export function dedupe<A extends AddressView>(addresses: readonly A[]): A[] {
  const seen = new Set<string>();
  return addresses.filter((each) => {
    const key = addressKey(each);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

export type ChosenAddresses =
  | { readonly ok: true; readonly addresses: readonly AddressView[] }
  | { readonly ok: false; readonly message: string };

/**
 * The desired addresses of a Node, from those of the cloud and the node IPs that the kubelet was given. As upstream:
 * addresses equal to a provided node IP come first, in the annotation's order, and exclude all others of their type.
 * The addresses of the other types follow. A provided IP that the cloud does not list is an error.
 */
export function preferProvided(fromCloud: readonly AddressView[], provided: readonly string[]): ChosenAddresses {
  if (provided.length === 0) return { ok: true, addresses: dedupe(fromCloud) };
  const first: AddressView[] = [];
  const closed = new Set<string>();
  for (const ip of provided) {
    const matches = fromCloud.filter(({ address }) => canonicalAddress(address) === ip);
    if (matches.length === 0) return { ok: false, message: `node IP ${ip} is not among the instance's addresses` };
    for (const match of matches) {
      first.push(match);
      closed.add(match.type);
    }
  }
  return { ok: true, addresses: dedupe([...first, ...fromCloud.filter(({ type }) => !closed.has(type))]) };
}

/** Keeps the kubelet's Hostname entries where the cloud lists none. */
export function withHostnames(chosen: readonly AddressView[], current: readonly AddressView[]): AddressView[] {
  if (chosen.some(({ type }) => type === 'Hostname')) return [...chosen];
  return dedupe([...chosen, ...current.filter(({ type }) => type === 'Hostname')]);
}

/** Equality as multisets: another order alone is no reason to write. */
export function sameAddresses(a: readonly AddressView[], b: readonly AddressView[]): boolean {
  if (a.length !== b.length) return false;
  const sorted = a.map(addressKey).sort();
  return b
    .map(addressKey)
    .sort()
    .every((each, index) => each === sorted[index]);
}

/** The addresses of `current` that are not in `desired`. */
export function droppedAddresses(current: readonly AddressView[], desired: readonly AddressView[]): AddressView[] {
  const kept = new Set(desired.map(addressKey));
  return current.filter((each) => !kept.has(addressKey(each)));
}
