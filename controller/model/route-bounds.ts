import { bitsOf, type Cidr, contains, type Family, overlap } from './cidr.ts';

/** Which pod ranges may be routed, whatever the Nodes claim. */
export interface RouteBounds {
  /** `--cluster-cidr`; empty: routes are off. */
  readonly clusterCidrs: readonly Cidr[];
  /** `--service-cluster-ip-range`; empty: unknown. */
  readonly serviceCidrs: readonly Cidr[];
  /** The mask of a Node's range by family, where the flags set it. */
  readonly masks: Readonly<Partial<Record<Family, number>>>;
}

/** A fault of a pod range that does not depend on other Nodes. */
export interface BoundsFault {
  readonly kind: 'outside' | 'service' | 'mask';
  /** Follows "pod range X" in a sentence. */
  readonly message: string;
}

/** Undefined: the range may be routed, if no other Node has it. Pure. */
export function boundsFault(range: Cidr, { clusterCidrs, serviceCidrs, masks }: RouteBounds): BoundsFault | undefined {
  if (!clusterCidrs.some((cluster) => holds(cluster, range)))
    return { kind: 'outside', message: `is not inside --cluster-cidr ${clusterCidrs.map(({ text }) => text)}` };
  const service = serviceCidrs.find((each) => overlap(each, range));
  if (service) return { kind: 'service', message: `overlaps --service-cluster-ip-range ${service.text}` };
  const mask = masks[range.family];
  if (mask !== undefined && range.prefix !== mask)
    return { kind: 'mask', message: `has another mask than the configured /${mask}` };
  return undefined;
}

export function holds(outer: Cidr, inner: Cidr): boolean {
  return contains(outer, inner.family, inner.first) && contains(outer, inner.family, inner.last);
}

/**
 * A key for the block of this prefix length that contains an address. Two CIDR blocks are nested or disjoint, so they
 * overlap exactly if the longer prefix, cut to the length of the shorter one, is the shorter one.
 */
export function blockKey(family: Family, address: bigint, prefix: number): string {
  return `${family}/${prefix}/${address >> BigInt(bitsOf(family) - prefix)}`;
}
