import { ownerTags } from '../../load-balancers.ts';
import { ownerIn, type Tags } from '../load-balancer-tags.ts';
import type { NetworkFacts, ObservedSecurityGroup } from '../security-groups/network-facts.ts';

/**
 * On a load balancer that its own Service has left to others, and on the security group in front of it: the ARN of that load balancer. Both go with the last of those that
 * use it. They stay tagged as that Service's, which takes them back where it comes back.
 */
export const leftTag = 'mooring.dev/left-to-others';

/** @param cluster UID */
export function isLeft({ arn, tags }: { readonly arn: string; readonly tags: Tags }, cluster: string): boolean {
  return tags[leftTag] === arn && ownerIn(tags, cluster) !== undefined && tags[ownerTags.retained] === undefined;
}

/** Security groups that were in front of what was left to others and is gone. */
export function leftGroups(
  { groups }: NetworkFacts,
  cluster: string,
  gone: readonly string[],
): readonly ObservedSecurityGroup[] {
  if (gone.length === 0) return [];
  return [...groups.values()].filter(
    ({ tags }) => ownerIn(tags, cluster) !== undefined && gone.includes(tags[leftTag] ?? ''),
  );
}
