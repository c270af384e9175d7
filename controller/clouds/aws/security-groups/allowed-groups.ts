import type { Refusal, WriteIo } from '../../../engine/resource.ts';
import { claimantOf, consentFor } from '../../consent.ts';
import { type Owner, ownerTags } from '../../load-balancers.ts';
import { invalid } from '../errors.ts';
import { ownedBy } from '../load-balancer-tags.ts';
import type { ObservedSecurityGroup } from './network-facts.ts';
import { isTrafficGroup } from './traffic-group.ts';

/** Whose load balancer is to carry security groups. */
export interface GroupUser {
  readonly owner: Owner;
  /** `namespace/name` */
  readonly service: string;
}

/** What decides who may use which group. */
export interface GroupPermissions {
  /** Ids that the operator allows every Service: `--allowed-security-groups`, and that of the cloud config. */
  readonly allowed: ReadonlySet<string>;
  /** By id, as last read; undefined = not read yet, and then it is decided when the load balancer is made. */
  readonly groups: ReadonlyMap<string, ObservedSecurityGroup> | undefined;
}

/**
 * Whether a load balancer of this Service may carry a group: it is the controller's own, the operator allows it, or its
 * consent tag names the cluster, the namespace or the Service. Every user that may write Services could otherwise
 * put a load balancer into any group of the VPC, and reach whatever that group is let in to.
 */
function mayCarry(id: string, { owner, service }: GroupUser, { allowed, groups }: GroupPermissions): boolean {
  if (allowed.has(id) || groups === undefined) return true;
  const tags = groups.get(id)?.tags ?? {};
  if (ownedBy(tags, owner) || isTrafficGroup(tags, owner.cluster)) return true;
  return consentFor(tags[ownerTags.consent], claimantOf(owner.cluster, service)) !== 'none';
}

/**
 * What an annotation that names groups comes to: refusals of those that may not be used, where it counts as unreadable,
 * and remarks about those without permission that its load balancer carries already: they stay.
 *
 * @param key of the annotation
 * @param carried ids that the Service's own load balancer carries
 */
export function judgeGroups(
  key: string,
  ids: readonly string[],
  user: GroupUser,
  permissions: GroupPermissions,
  carried: readonly string[],
) {
  const refusals: Refusal[] = [];
  const remarks: string[] = [];
  for (const id of ids) {
    if (mayCarry(id, user, permissions)) continue;
    if (carried.includes(id)) {
      remarks.push(`${key}: security group ${id} stays, since the load balancer carries it; ${howToAllow(id, user)}`);
    } else {
      const message = `${key}: security group ${id} is not for ${user.service}; ${howToAllow(id, user)}`;
      refusals.push({ reason: 'ForeignLoadBalancer', message });
    }
  }
  return { refusals, remarks };
}

/** What a load balancer gets its groups for. */
export interface GroupsUse {
  readonly service: string;
  /** Ids that it carries. */
  readonly carried: readonly string[];
  readonly operation: string;
}

/**
 * Ids of groups, right before a load balancer gets them, by what was read since.
 *
 * @param groups ids, or names of resources that make them
 * @throws CloudError that names those that it may not carry
 */
export function allowedIds(
  groups: readonly string[],
  { service, carried, operation }: GroupsUse,
  permissions: GroupPermissions,
  io: Pick<WriteIo, 'idOf' | 'owner'>,
): string[] {
  const user = { owner: io.owner, service };
  const ids = groups.map((group) => (group.startsWith('sg-') ? group : io.idOf(group)));
  const message = ids
    .filter((id) => !carried.includes(id) && !mayCarry(id, user, permissions))
    .map((id) => `security group ${id} is not for ${service}; ${howToAllow(id, user)}`)
    .join('; ');
  if (message !== '') throw invalid(operation, message);
  return ids;
}

function howToAllow(id: string, { owner, service }: GroupUser): string {
  const tag = `${ownerTags.consent}=${owner.cluster}/${claimantOf(owner.cluster, service).namespace}`;
  return `an operator allows it with --allowed-security-groups=${id}, or by the tag ${tag} on that group`;
}
