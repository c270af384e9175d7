import { bitsOf, type Cidr } from '../model/cidr.ts';
import { overlapsAny, parseClusterCidrs } from '../model/cluster-cidrs.ts';

/** A range of pod addresses, and the mask of the part that a Node gets. */
export interface NodeRange {
  readonly range: Cidr;
  readonly maskSize: number;
}

/** Each Node gets a part of the cluster's ranges. Validated. */
export interface RangeOptions {
  /** One, or one of each family, in the order of `spec.podCIDRs`. */
  readonly ranges: readonly NodeRange[];
  /** Never allocated to a Node. */
  readonly serviceCidrs: readonly Cidr[];
}

/** Each Node gets the ranges that its cloud has given to its instance. Validated. */
export interface CloudRangeOptions {
  /** One, or one of each family, in the order of `spec.podCIDRs`: a Node gets one range inside each. */
  readonly clusterCidrs: readonly Cidr[];
  /** No range of a Node overlaps them. */
  readonly serviceCidrs: readonly Cidr[];
}

export type IpamOptions = RangeOptions | CloudRangeOptions;

/** The flags as given; 0 = not set. */
export interface IpamFlags {
  readonly clusterCidr: string;
  readonly serviceClusterIpRange: string;
  readonly nodeCidrMaskSize: number;
  readonly nodeCidrMaskSizeIpv4: number;
  readonly nodeCidrMaskSizeIpv6: number;
}

export interface InvalidFlag {
  readonly flag: string;
  readonly value: string;
  readonly expected: string;
}

/** The maximal number of parts: 2^16 for IPv6 as upstream, 2^22 (half a megabyte) for IPv4. */
const maxBits = { 4: 22, 6: 16 } as const;
export const defaultMasks = { 4: 24, 6: 64 } as const;

/** Validates the flags of RangeAllocator. For invalid flags it returns which one is wrong and what was expected. */
export function parseRangeOptions(flags: IpamFlags): RangeOptions | InvalidFlag {
  const options = parseCloudRangeOptions(flags);
  if ('flag' in options) return options;
  const ranges = withMasks(options.clusterCidrs, flags);
  return 'flag' in ranges ? ranges : { ranges, serviceCidrs: options.serviceCidrs };
}

/** Validates the flags of CloudAllocator, which needs no masks. Returns as `parseRangeOptions`. */
export function parseCloudRangeOptions(
  flags: Pick<IpamFlags, 'clusterCidr' | 'serviceClusterIpRange'>,
): CloudRangeOptions | InvalidFlag {
  const clusterCidrs = parseClusterCidrs(flags.clusterCidr);
  if ('expected' in clusterCidrs)
    return { flag: 'cluster-cidr', value: flags.clusterCidr, expected: clusterCidrs.expected };
  if (clusterCidrs.length === 0)
    return { flag: 'cluster-cidr', value: '', expected: 'the range to give to Nodes, such as 10.244.0.0/16' };
  const services = { flag: 'service-cluster-ip-range', value: flags.serviceClusterIpRange };
  const serviceCidrs = parseClusterCidrs(flags.serviceClusterIpRange);
  if ('expected' in serviceCidrs) return { ...services, expected: serviceCidrs.expected };
  const covered = clusterCidrs.find((range) =>
    serviceCidrs.some((each) => overlapsAny(each, [range]) && each.prefix <= range.prefix),
  );
  if (covered) return { ...services, expected: `a range that leaves some of --cluster-cidr ${covered.text} to Nodes` };
  return { clusterCidrs, serviceCidrs };
}

function withMasks(clusterCidrs: readonly Cidr[], flags: IpamFlags): readonly NodeRange[] | InvalidFlag {
  if (flags.nodeCidrMaskSize !== 0 && clusterCidrs.length > 1)
    return {
      flag: 'node-cidr-mask-size',
      value: String(flags.nodeCidrMaskSize),
      expected: 'nothing with two ranges in --cluster-cidr; --node-cidr-mask-size-ipv4 and -ipv6 are for those',
    };
  const ranges: NodeRange[] = [];
  for (const range of clusterCidrs) {
    const own = range.family === 4 ? flags.nodeCidrMaskSizeIpv4 : flags.nodeCidrMaskSizeIpv6;
    const maskSize = flags.nodeCidrMaskSize || own || defaultMasks[range.family];
    const most = Math.min(bitsOf(range.family), range.prefix + maxBits[range.family]);
    if (maskSize < range.prefix || maskSize > most)
      return {
        flag: flags.nodeCidrMaskSize !== 0 ? 'node-cidr-mask-size' : `node-cidr-mask-size-ipv${range.family}`,
        value: String(maskSize),
        expected: `${range.prefix} to ${most} with --cluster-cidr ${range.text}`,
      };
    ranges.push({ range, maskSize });
  }
  return ranges;
}
