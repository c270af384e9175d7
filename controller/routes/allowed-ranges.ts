import type { Cidr, Family } from '../model/cidr.ts';
import { blockKey, boundsFault, type RouteBounds } from '../model/route-bounds.ts';
import type { RouteReason } from './reasons.ts';

/** A pod range that a Node claims. A kubelet can write any range while it registers. */
export interface RangeClaim {
  readonly node: string;
  /** See ClaimOrder. */
  readonly claimedAt: number;
  readonly createdAtMs: number;
  readonly range: Cidr;
  /** A route to exactly this range leads to the Node's instance. */
  readonly hasRoute: boolean;
}

/** An address of a VM, confirmed by its cloud. */
export interface VmAddress {
  readonly node: string;
  /** A range of one address. */
  readonly address: Cidr;
}

export interface Refusal {
  readonly reason: Extract<RouteReason, 'CIDRNotAllowed' | 'DuplicatePodCIDR'>;
  readonly message: string;
}

/** A range that contains the ranges of this many other Nodes is not the range of one Node. */
const minContainedRanges = 2;

/**
 * The claims for which no route may be created, and why. A range that is invalid by itself does not block other Nodes,
 * unless it has a route: no new route is created over an existing one. Of two overlapping ranges, the one with a route
 * wins, then the valid one, then the one that was claimed first, then the older Node, then the first by name. But a
 * range that contains those of several other Nodes loses to all of them; if it has a route, only those with a route
 * count. Pure. Linear in the number of claims.
 */
export function refusedClaims<C extends RangeClaim>(
  claims: readonly C[],
  bounds: RouteBounds,
  vmAddresses: readonly VmAddress[] = [],
): ReadonlyMap<C, Refusal> {
  const refused = new Map<C, Refusal>();
  const refuse = (claim: C, message: string) => {
    if (refused.has(claim)) return;
    refused.set(claim, { reason: 'CIDRNotAllowed', message: `pod range ${claim.range.text} ${message}` });
  };
  const lengths = lengthsOf(claims);
  const addresses = new Map<string, VmAddress>();
  for (const each of vmAddresses)
    for (const prefix of lengths[each.address.family])
      addresses.set(blockKey(each.address.family, each.address.first, prefix), each);

  const contenders: C[] = [];
  for (const claim of claims) {
    const fault = boundsFault(claim.range, bounds);
    const vm = addresses.size === 0 ? undefined : addresses.get(ownKey(claim.range));
    if (fault) refuse(claim, fault.message);
    else if (vm) refuse(claim, `contains ${vm.address.text.replace(/\/.*/, '')}, the address of Node ${vm.node}`);
    // Traffic follows an existing route, and a longer prefix inside it would divert a part. A range outside the
    // cluster's ranges is disjoint from them or contains them all, as the default route over a NAT instance does.
    if (!refused.has(claim) || (claim.hasRoute && fault?.kind !== 'outside')) contenders.push(claim);
  }
  resolveOverlaps(contenders, lengthsOf(contenders), refused, refuse);
  return refused;
}

function resolveOverlaps<C extends RangeClaim>(
  claims: readonly C[],
  lengths: Readonly<Record<Family, readonly number[]>>,
  refused: Map<C, Refusal>,
  refuse: (claim: C, message: string) => void,
): void {
  const shorter = ({ family, first, prefix }: Cidr) =>
    lengths[family].filter((length) => length < prefix).map((length) => blockKey(family, first, length));
  const inside = new Map<string, number>();
  const routedInside = new Map<string, number>();
  for (const { range, hasRoute } of claims)
    for (const key of shorter(range))
      for (const count of hasRoute ? [inside, routedInside] : [inside]) count.set(key, (count.get(key) ?? 0) + 1);
  const held = new Map<string, C>();
  const heldInside = new Map<string, C>();
  const byRank = (a: C, b: C) =>
    Number(b.hasRoute) - Number(a.hasRoute) || Number(refused.has(a)) - Number(refused.has(b)) || byAge(a, b);
  for (const claim of [...claims].sort(byRank)) {
    const key = ownKey(claim.range);
    const others = (claim.hasRoute ? routedInside : inside).get(key) ?? 0;
    const same = held.get(key);
    const outer = shorter(claim.range).find((each) => held.has(each));
    const other = heldInside.get(key) ?? (outer === undefined ? undefined : held.get(outer));
    if (others >= minContainedRanges) {
      refuse(claim, `contains the pod ranges of ${others} other Nodes`);
      continue;
    }
    if (other) refuse(claim, `overlaps ${other.range.text} of Node ${other.node}`);
    else if (same) {
      const message = `${claim.range.text} is the pod range of Node ${same.node} too`;
      if (!refused.has(claim)) refused.set(claim, { reason: 'DuplicatePodCIDR', message });
    }
    if ((other || same) && !claim.hasRoute) continue;
    held.set(key, same ?? claim);
    for (const each of shorter(claim.range)) heldInside.set(each, claim);
  }
}

function byAge(a: RangeClaim, b: RangeClaim): number {
  return a.claimedAt - b.claimedAt || a.createdAtMs - b.createdAtMs || (a.node < b.node ? -1 : a.node > b.node ? 1 : 0);
}

function ownKey({ family, first, prefix }: Cidr): string {
  return blockKey(family, first, prefix);
}

/** The prefix lengths in use: few, where one allocator assigns the ranges. */
function lengthsOf(claims: readonly RangeClaim[]): Readonly<Record<Family, readonly number[]>> {
  const lengths = { 4: new Set<number>(), 6: new Set<number>() };
  for (const { range } of claims) lengths[range.family].add(range.prefix);
  return { 4: [...lengths[4]], 6: [...lengths[6]] };
}
