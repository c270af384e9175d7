import ipaddr from 'ipaddr.js';
import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { IpFamily } from '../clouds/load-balancers.ts';
import type { ServiceView } from '../model/service-view.ts';

export type SourceRanges =
  | { readonly ok: true; readonly ranges: readonly string[]; readonly asksForEverybody: boolean }
  | { readonly ok: false; readonly message: string };

/**
 * The ranges that may connect: `spec.loadBalancerSourceRanges`, else the annotation (comma separated, spaces around an
 * entry allowed), normalised, sorted, without duplicates.
 * Empty = unrestricted. A range of all addresses of one family among others stays, because the ranges of the other
 * family may be narrower. Ranges of none of the Service's families are refused, because no client could connect. Pure.
 */
export function sourceRangesOf(
  service: Pick<ServiceView, 'sourceRanges' | 'annotations' | 'ipFamilies'>,
): SourceRanges {
  const annotation = service.annotations[annotationKeys.sourceRanges]?.trim() ?? '';
  const [from, texts] =
    service.sourceRanges.length > 0
      ? (['spec.loadBalancerSourceRanges', service.sourceRanges] as const)
      : ([`annotation ${annotationKeys.sourceRanges}`, annotation === '' ? [] : annotation.split(',')] as const);
  const ranges = new Set<string>();
  for (const text of texts) {
    const range = normalCidr(text.trim());
    if (range === undefined) {
      return { ok: false, message: `${from}: ${JSON.stringify(text)}, expected a CIDR such as 192.0.2.0/24` };
    }
    ranges.add(range);
  }
  const sorted = [...ranges].sort();
  const families = service.ipFamilies.length > 0 ? service.ipFamilies : ['IPv4'];
  if (sorted.length > 0 && !isUnrestricted(sorted) && !sorted.some((range) => families.includes(familyOf(range)))) {
    const expected = `expected at least one ${families.join(' or ')} range: no client could connect`;
    const message = `${from}: ${sorted.join(', ')}, ${expected}`;
    return { ok: false, message };
  }
  const asksForEverybody = isUnrestricted(sorted);
  return { ok: true, ranges: asksForEverybody ? [] : sorted, asksForEverybody };
}

/** Upstream takes this one range, and no other, for "unrestricted". */
function isUnrestricted([range, ...others]: readonly string[]): boolean {
  return range === '0.0.0.0/0' && others.length === 0;
}

function familyOf(range: string): IpFamily {
  return range.includes(':') ? 'IPv6' : 'IPv4';
}

/** The CIDR with its host bits cleared; undefined when it is none. */
function normalCidr(text: string): string | undefined {
  const slash = text.lastIndexOf('/');
  const address = text.slice(0, slash);
  const length = text.slice(slash + 1);
  if (slash < 0 || !/^(0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const isFour = ipaddr.IPv4.isValidFourPartDecimal(address) && !/(^|\.)0\d/.test(address);
  const isSix = address.includes(':') && ipaddr.IPv6.isValid(address) && !address.includes('%');
  if ((!isFour && !isSix) || Number(length) > (isFour ? 32 : 128)) return undefined;
  const network = isFour
    ? ipaddr.IPv4.networkAddressFromCIDR(text).toString()
    : ipaddr.IPv6.networkAddressFromCIDR(text).toString();
  return `${network}/${length}`;
}
