import { bitsOf, type Cidr } from '../model/cidr.ts';
import { overlapsAny, parseClusterCidrs } from '../model/cluster-cidrs.ts';

/** A range of pod addresses, and the mask of the part that a Node gets. */
export interface NodeRange {
  readonly range: Cidr;
  readonly maskSize: number;
}

/** Validated. */
export interface IpamOptions {
  /** One, or one of each family, in the order of `spec.podCIDRs`. */
  readonly ranges: readonly NodeRange[];
  /** Never allocated to a Node. */
  readonly serviceCidrs: readonly Cidr[];
}

/** The flags as given; 0 = not set. */
export interface IpamFlags {
  readonly clusterCidr: string;
  readonly serviceClusterIpRange: string;
  readonly nodeCidrMaskSize: number;
  readonly nodeCidrMaskSizeIpv4: number;
  readonly nodeCidrMaskSizeIpv6: number;
}

/** The maximal number of parts: 2^16 for IPv6 as upstream, 2^22 (half a megabyte) for IPv4. */
const maxBits = { 4: 22, 6: 16 } as const;
export const defaultMasks = { 4: 24, 6: 64 } as const;

/** Validates the flags of node IPAM. For invalid flags it returns which one is wrong and what was expected. */
export function parseIpamOptions(
  flags: IpamFlags,
): IpamOptions | { readonly flag: string; readonly value: string; readonly expected: string } {
  const cidrs = parseClusterCidrs(flags.clusterCidr);
  if ('expected' in cidrs) return { flag: 'cluster-cidr', value: flags.clusterCidr, expected: cidrs.expected };
  if (cidrs.length === 0)
    return { flag: 'cluster-cidr', value: '', expected: 'the range to give to Nodes, such as 10.244.0.0/16' };
  const serviceCidrs = parseClusterCidrs(flags.serviceClusterIpRange);
  if ('expected' in serviceCidrs)
    return {
      flag: 'service-cluster-ip-range',
      value: flags.serviceClusterIpRange,
      expected: serviceCidrs.expected,
    };
  if (flags.nodeCidrMaskSize !== 0 && cidrs.length > 1)
    return {
      flag: 'node-cidr-mask-size',
      value: String(flags.nodeCidrMaskSize),
      expected: 'nothing with two ranges in --cluster-cidr; --node-cidr-mask-size-ipv4 and -ipv6 are for those',
    };
  const ranges: NodeRange[] = [];
  for (const range of cidrs) {
    const own = range.family === 4 ? flags.nodeCidrMaskSizeIpv4 : flags.nodeCidrMaskSizeIpv6;
    const maskSize = flags.nodeCidrMaskSize || own || defaultMasks[range.family];
    const most = Math.min(bitsOf(range.family), range.prefix + maxBits[range.family]);
    if (maskSize < range.prefix || maskSize > most)
      return {
        flag: flags.nodeCidrMaskSize !== 0 ? 'node-cidr-mask-size' : `node-cidr-mask-size-ipv${range.family}`,
        value: String(maskSize),
        expected: `${range.prefix} to ${most} with --cluster-cidr ${range.text}`,
      };
    const whole = serviceCidrs.find((each) => overlapsAny(each, [range]) && each.prefix <= range.prefix);
    if (whole)
      return {
        flag: 'service-cluster-ip-range',
        value: flags.serviceClusterIpRange,
        expected: `a range that leaves some of --cluster-cidr ${range.text} to Nodes`,
      };
    ranges.push({ range, maskSize });
  }
  return { ranges, serviceCidrs };
}
