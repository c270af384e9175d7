import type { MetricsOf } from '../../common/process/metrics.ts';
import { type Cidr, parseCidr } from '../model/cidr.ts';
import { boundsFault, holds, type RouteBounds } from '../model/route-bounds.ts';
import { type CidrSet, createCidrSet } from './cidr-set.ts';
import type { RangeOptions } from './ipam-options.ts';
import type { ipamMetrics } from './metrics.ts';

/** Tracks which Node has which pod range. Does no I/O. */
export interface RangeAllocator {
  /**
   * Marks the ranges of a Node as allocated, if they may have been allocated here. Returns what is invalid about them.
   * Safe to repeat.
   */
  mark(owner: Owner, podCIDRs: readonly string[]): Marked;
  /**
   * Allocates one range of each family; the same ones again while the owner holds them. Allocates nothing when a family
   * has none left: `full` names its range.
   */
  allocate(owner: Owner): { readonly cidrs: readonly Cidr[] } | { readonly full: string };
  /** The ranges of this Node object; undefined when it has none. */
  held(owner: Owner): readonly Cidr[] | undefined;
  /** Releases the ranges of a Node that was deleted or does not get them. Returns whether there were any. */
  release(owner: Owner): boolean;
  owners(): Iterable<Owner>;
}

export interface Owner {
  readonly name: string;
  readonly uid: string;
}

export interface Marked {
  /** Ranges that are not inside one of ours. */
  readonly outside: readonly string[];
  /** Ranges that overlap those of another Node or of Services. */
  readonly overlaps: readonly string[];
  /** Ranges with another mask than ours. */
  readonly mask: readonly string[];
}

interface Holding {
  readonly owner: Owner;
  readonly cidrs: readonly Cidr[];
  /**
   * The `cidrs` that would not be allocated here, whatever the mask. They are not counted, so that no Node can exhaust
   * the ranges. While there is room, no other Node gets a part of them.
   */
  readonly avoided: readonly Cidr[];
  readonly marked: Marked;
}

/** As many parts of the configured mask count for one Node that has a wider range. */
const maxParts = 16;

export function createRangeAllocator(options: RangeOptions, metrics: MetricsOf<typeof ipamMetrics>): RangeAllocator {
  const sets = options.ranges.map(({ range, maskSize }) => createCidrSet(range, maskSize));
  const held = new Map<string, Holding>();
  const bounds: RouteBounds = {
    clusterCidrs: options.ranges.map(({ range }) => range),
    serviceCidrs: options.serviceCidrs,
    masks: Object.fromEntries(options.ranges.map(({ range, maskSize }) => [range.family, maskSize])),
  };
  let avoidedChanged = false;
  for (const set of sets) {
    for (const reserved of options.serviceCidrs) set.occupy(reserved);
    metrics.maxCidrs.set({ clusterCIDR: set.range.text }, set.size);
    measure(set);
  }

  function measure(set: CidrSet): void {
    metrics.usage.set({ clusterCIDR: set.range.text }, set.used / set.size);
  }

  function free(set: CidrSet, cidr: Cidr): void {
    set.release(cidr);
    metrics.releases.add({ clusterCIDR: set.range.text });
    measure(set);
  }

  function mark(owner: Owner, podCIDRs: readonly string[]): Marked {
    const known = held.get(owner.uid);
    if (known && sameRanges(known.cidrs, podCIDRs)) return known.marked;
    if (known) release(owner);
    const marked = { outside: [] as string[], overlaps: [] as string[], mask: [] as string[] };
    const cidrs: Cidr[] = [];
    const avoided: Cidr[] = [];
    for (const text of podCIDRs) {
      const cidr = parseCidr(text);
      if (cidr === undefined) {
        marked.outside.push(text);
        continue;
      }
      cidrs.push(cidr);
      const fault = boundsFault(cidr, bounds);
      if (fault) marked[fault.kind === 'service' ? 'overlaps' : fault.kind].push(text);
      if (fault && !(fault.kind === 'mask' && isSmall(cidr))) {
        avoided.push(cidr);
        continue;
      }
      for (const set of sets) {
        const { touches, free } = set.occupy(cidr);
        if (!free && !fault) marked.overlaps.push(text);
        if (touches) measure(set);
      }
    }
    hold({ owner, cidrs, avoided, marked });
    return marked;
  }

  /** Whether a range that an earlier mask may have given counts: no single kubelet may use up the ranges by one. */
  function isSmall(cidr: Cidr): boolean {
    const set = sets.find(({ range }) => holds(range, cidr));
    if (set === undefined) return false;
    const parts = 2 ** (set.partPrefix - cidr.prefix);
    return parts <= Math.max(1, Math.min(maxParts, set.size / 4));
  }

  function hold(holding: Holding): void {
    held.set(holding.owner.uid, holding);
    avoidedChanged ||= holding.avoided.length > 0;
  }

  function refreshAvoided(): void {
    if (!avoidedChanged) return;
    avoidedChanged = false;
    const all = [...held.values()].flatMap(({ avoided }) => avoided);
    for (const set of sets) set.avoid(all);
  }

  function allocate(owner: Owner): { readonly cidrs: readonly Cidr[] } | { readonly full: string } {
    const known = held.get(owner.uid);
    if (known) return { cidrs: known.cidrs };
    refreshAvoided();
    const taken: { readonly set: CidrSet; readonly cidr: Cidr }[] = [];
    for (const set of sets) {
      const given = set.allocate();
      if (given === undefined) {
        // The range of one family is of no use without the other.
        for (const each of taken) free(each.set, each.cidr);
        return { full: set.range.text };
      }
      const clusterCIDR = set.range.text;
      metrics.allocations.add({ clusterCIDR });
      metrics.tries.observe({ clusterCIDR }, given.tries);
      measure(set);
      taken.push({ set, cidr: given.cidr });
    }
    const cidrs = taken.map(({ cidr }) => cidr);
    hold({ owner, cidrs, avoided: [], marked: { outside: [], overlaps: [], mask: [] } });
    return { cidrs };
  }

  function release(owner: Owner): boolean {
    const holding = held.get(owner.uid);
    if (!holding) return false;
    held.delete(owner.uid);
    avoidedChanged ||= holding.avoided.length > 0;
    for (const cidr of holding.cidrs)
      for (const set of holding.avoided.includes(cidr) ? [] : sets)
        if (set.range.family === cidr.family) free(set, cidr);
    return true;
  }

  return {
    mark,
    allocate,
    held: ({ uid }) => held.get(uid)?.cidrs,
    release,
    *owners() {
      for (const { owner } of held.values()) yield owner;
    },
  };
}

function sameRanges(cidrs: readonly Cidr[], texts: readonly string[]): boolean {
  return cidrs.length === texts.length && texts.every((text, at) => parseCidr(text)?.text === cidrs[at]?.text);
}
