import type { FlagValues } from '../../../common/process/flags.ts';
import { defaultMasks, type IpamOptions, parseCloudRangeOptions, parseRangeOptions } from '../../ipam/ipam-options.ts';
import { bitsOf, type Cidr, type Family } from '../../model/cidr.ts';
import { parseClusterCidrs } from '../../model/cluster-cidrs.ts';
import { type Budget, parseBudget } from '../../model/deletion-budget.ts';
import type { RouteBounds } from '../../model/route-bounds.ts';
import {
  type DesirePolicy,
  type OperatorPolicy,
  parseAttachGrant,
  parseRetainGrant,
} from '../../services/operator-policy.ts';
import type { Loops } from './loops.ts';
import type { clusterFlags, networkFlags } from './network-flags.ts';
import { OptionError } from './options.ts';
import { readTaggingOptions, type TaggingOptions, type taggingFlags } from './tagging-options.ts';

/** Services, routes and pod ranges, validated. */
export interface NetworkOptions {
  readonly clusterName: string;
  readonly loadBalancerClasses: readonly string[];
  readonly policy: OperatorPolicy;
  readonly bounds: RouteBounds;
  readonly routes: boolean;
  /** `--adopt`. Default: no. */
  readonly adopts?: boolean;
  readonly concurrentServiceSyncs: number;
  readonly drainMs: number;
  readonly removalBudget: Budget;
  readonly loadBalancerAuditMs: number;
  readonly deleteOrphans: boolean;
  readonly routeAuditMs: number;
  readonly concurrentRoutes: number;
  /** Undefined: no pod ranges are allocated to Nodes. */
  readonly ipam: IpamOptions | undefined;
  /** `--allocate-node-cidrs`, for the log. Default: no. */
  readonly allocatesNodeCidrs?: boolean;
  /** Undefined: instances are not tagged. */
  readonly tagging?: TaggingOptions | undefined;
  /** `--tags`, for the log. Default: no. */
  readonly namesTags?: boolean;
}

/** Throws an OptionError that names the flag. */
export function readNetworkOptions(
  values: FlagValues<typeof clusterFlags> & FlagValues<typeof networkFlags> & FlagValues<typeof taggingFlags>,
  loops: Loops,
): NetworkOptions {
  const budget = parseBudget(values.memberRemovalBudget);
  if ('expected' in budget)
    throw new OptionError(
      `--member-removal-budget: ${JSON.stringify(values.memberRemovalBudget)}, expected ${budget.expected}`,
    );
  const ipam = loops.ipam && values.allocateNodeCidrs ? ipamOptions(values, loops) : undefined;
  return {
    clusterName: values.clusterName,
    loadBalancerClasses: values.loadBalancerClass,
    policy: policyOf(values),
    bounds: routeBounds(values, ipam),
    routes: values.configureCloudRoutes,
    adopts: values.adopt,
    concurrentServiceSyncs: values.concurrentServiceSyncs,
    drainMs: values.memberDrainTime,
    removalBudget: budget,
    loadBalancerAuditMs: values.loadBalancerAuditPeriod,
    deleteOrphans: values.deleteOrphans,
    routeAuditMs: values.routeReconciliationPeriod,
    concurrentRoutes: values.concurrentRouteSyncs,
    ipam,
    allocatesNodeCidrs: values.allocateNodeCidrs,
    tagging: readTaggingOptions(values, loops),
    namesTags: values.tags.length > 0,
  };
}

type DesireFlags = Pick<
  typeof clusterFlags,
  'attachable-load-balancers' | 'allow-cluster-wide-attach' | 'allow-keep-address'
>;

/** The values are valid: the flags' own checks have refused others. */
export function desirePolicyOf(values: FlagValues<DesireFlags>): DesirePolicy {
  return {
    attachable: values.attachableLoadBalancers.flatMap((text) => parseAttachGrant(text) ?? []),
    clusterWideAttach: values.allowClusterWideAttach,
    ...(values.allowKeepAddress.length > 0 && {
      keepAddress: values.allowKeepAddress.flatMap((text) => parseRetainGrant(text) ?? []),
    }),
  };
}

function policyOf(values: FlagValues<typeof clusterFlags>): OperatorPolicy {
  return {
    ...desirePolicyOf(values),
    retain: values.allowRetain.flatMap((text) => parseRetainGrant(text) ?? []),
    retainLimit: values.retainedLoadBalancersLimit,
  };
}

function ipamOptions(
  values: FlagValues<typeof clusterFlags> & FlagValues<typeof networkFlags>,
  loops: Pick<Loops, 'route'>,
): IpamOptions {
  const byCloud = values.cidrAllocatorType === 'CloudAllocator';
  if (byCloud && loops.route && values.configureCloudRoutes)
    throw new OptionError(
      '--configure-cloud-routes: true, expected false with --cidr-allocator-type CloudAllocator: the cloud delivers ' +
        'to the ranges of its instances without routes',
    );
  const parsed = byCloud ? parseCloudRangeOptions(values) : parseRangeOptions(values);
  if ('expected' in parsed)
    throw new OptionError(`--${parsed.flag}: ${JSON.stringify(parsed.value)}, expected ${parsed.expected}`);
  return parsed;
}

/**
 * The mask is known where a flag sets it, or where Mooring allocates the ranges itself. Otherwise any mask is accepted,
 * because another allocator may have another default.
 */
function routeBounds(values: FlagValues<typeof clusterFlags>, ipam: IpamOptions | undefined): RouteBounds {
  const clusterCidrs = ranges('cluster-cidr', values.clusterCidr);
  const serviceCidrs = ranges('service-cluster-ip-range', values.serviceClusterIpRange);
  const own = { 4: values.nodeCidrMaskSizeIpv4, 6: values.nodeCidrMaskSizeIpv6 };
  const single = clusterCidrs.length > 1 ? 0 : values.nodeCidrMaskSize;
  const defaults: RouteBounds['masks'] = ipam && 'ranges' in ipam ? defaultMasks : {};
  const masks: Partial<Record<Family, number>> = {};
  for (const { family, prefix, text } of clusterCidrs) {
    const mask = single || own[family] || defaults[family];
    if (mask === undefined) continue;
    if (mask < prefix || mask > bitsOf(family))
      throw new OptionError(
        `--node-cidr-mask-size${single ? '' : `-ipv${family}`}: "${mask}", expected ${prefix} to ` +
          `${bitsOf(family)} with --cluster-cidr ${text}`,
      );
    masks[family] = mask;
  }
  return { clusterCidrs, serviceCidrs, masks };
}

function ranges(flag: string, text: string): readonly Cidr[] {
  const parsed = parseClusterCidrs(text);
  if ('expected' in parsed) throw new OptionError(`--${flag}: ${JSON.stringify(text)}, expected ${parsed.expected}`);
  return parsed;
}
