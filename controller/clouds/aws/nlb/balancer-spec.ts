import type { Change } from '../../../engine/resource.ts';
import { keys } from '../load-balancer-annotations.ts';
import type { TagSpec } from './marks.ts';
import type { NetworkLoadBalancer } from './network-load-balancer.ts';
import type { Scheme } from './settings.ts';

/** Where a load balancer is to stand; what is not named is found out right before it is made. */
export interface PlaceSpec {
  /** Ids or Name tags; empty = discovered. */
  readonly subnets: readonly string[];
  readonly eips: readonly string[];
  readonly privateAddresses: readonly string[];
}

/** What one Service asks of its network load balancer. Undefined = not understood, or not allowed: it stays. */
export interface NetworkSpec extends TagSpec {
  readonly name: string;
  readonly scheme: Scheme | undefined;
  readonly addressType: 'ipv4' | 'dualstack';
  readonly place: PlaceSpec | undefined;
  /** Ids, or names of resources that are still to be made. Empty: none, which is decided when it is made. */
  readonly groups: readonly string[] | undefined;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Why what is desired has another address than this load balancer; undefined when it has not. Pure. */
export function addressChange(
  there: NetworkLoadBalancer,
  { scheme, place }: Pick<NetworkSpec, 'scheme' | 'place'>,
): string | undefined {
  if (scheme !== undefined && scheme !== there.scheme) return `from ${there.scheme} to ${scheme}, see ${keys.internal}`;
  // A new one may not show its addresses yet.
  if (place === undefined || there.state === 'provisioning') return undefined;
  const eips = there.places.flatMap(({ eip }) => eip ?? []);
  if (place.eips.length > 0 && !isSameSet(place.eips, eips))
    return `from ${eips.join(', ') || 'addresses of AWS'} to ${place.eips.join(', ')}, see ${keys.eipAllocations}`;
  const held = there.places.flatMap(({ privateAddress }) => privateAddress ?? []);
  const asked = place.privateAddresses;
  if (asked.length > 0 && held.length > 0 && !isSameSet(asked, held))
    return `from ${held.join(', ')} to ${asked.join(', ')}, see ${keys.privateAddresses}`;
  return undefined;
}

/** Subnets that it would leave, with an address each. Those that go by name are looked up when it is made alone. */
export function lostSubnets({ places }: NetworkLoadBalancer, { subnets }: Pick<PlaceSpec, 'subnets'>): string[] {
  if (subnets.length === 0 || !subnets.every((id) => id.startsWith('subnet-'))) return [];
  return places.map(({ subnet }) => subnet).filter((subnet) => !subnets.includes(subnet));
}

/** What a call each can change, but for tags and attributes. Pure. */
export function networkChanges(
  { name, addressType: standing, places, securityGroups }: NetworkLoadBalancer,
  { place, addressType, groups }: NetworkSpec,
): readonly Change[] {
  const changes: Change[] = [];
  const change = (what: string, from: string, to: string, body: unknown) =>
    changes.push({ what, phase: 'set', summary: `${what} of ${name} from ${from} to ${to}`, body });
  if (standing !== addressType) change('address type', standing, addressType, addressType);
  const subnets = places.map(({ subnet }) => subnet);
  const named = place?.subnets ?? [];
  if (named.length > 0 && named.every((id) => id.startsWith('subnet-')) && !isSameSet(named, subnets))
    // With what stands: several calls on the way are no calls without effect.
    change('subnets', subnets.join(', '), named.join(', '), { place, from: subnets });
  // Without groups at its creation it never gets any.
  if (groups !== undefined && securityGroups.length > 0 && !isSameSet(groups, securityGroups))
    change('security groups', securityGroups.join(', '), groups.join(', '), groups);
  return changes;
}

export function isSameSet(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item) => other.includes(item));
}
