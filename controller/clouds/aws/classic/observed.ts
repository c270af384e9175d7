import type { ObservedLoadBalancer, ObservedMember, Owner } from '../../load-balancers.ts';
import { ownerTags } from '../../load-balancers.ts';
import { ownedBy, type Tags } from '../load-balancer-tags.ts';
import type { NetworkFacts, ObservedSecurityGroup } from '../security-groups/network-facts.ts';
import { ownGroupOf } from '../security-groups/own-group.ts';
import type { Subnet } from '../subnets.ts';
import type { ClassicLoadBalancer } from './classic-load-balancer.ts';

/** Whose things are looked at. */
export interface Subject {
  readonly owner: Owner;
  /** That its load balancer has or would have. */
  readonly name: string;
  /** `namespace/name` */
  readonly service: string;
}

export interface ClassicPieces {
  readonly subject: Subject;
  /** Has the name. */
  readonly balancer: ClassicLoadBalancer | undefined;
  /** By its tags, or by adoption. */
  readonly isOurs: boolean;
  readonly adopted: boolean;
  readonly facts: NetworkFacts;
  /** Of the VPC; undefined = not read. */
  readonly subnets: readonly Subnet[] | undefined;
  /** The providerIDs that members were registered by, for those that EC2 does not show any more. */
  readonly providerIds: ReadonlyMap<string, string>;
  /** Id of a traffic group that nobody carries any more; it stands in for the group in front. */
  readonly leftover?: string | undefined;
}

export interface ClassicObserved extends ObservedLoadBalancer {
  readonly kind: 'classic';
  readonly pieces: ClassicPieces;
}

/** The name that the classic controller gives to the group in front of a load balancer. */
export function ownGroupName(loadBalancer: string): string {
  return `k8s-elb-${loadBalancer}`;
}

/** The group in front of it: by its tags; of one that was taken over, the one with its name that it carries. */
export function ownGroupIn(pieces: ClassicPieces): ObservedSecurityGroup | undefined {
  const { subject, balancer, adopted, facts } = pieces;
  if (pieces.leftover !== undefined) return facts.groups.get(pieces.leftover);
  const name = ownGroupName(subject.name);
  const tagged = ownGroupOf(facts, subject.owner, name);
  if (tagged !== undefined || !adopted) return tagged;
  const carried = balancer?.securityGroups.flatMap((id) => facts.groups.get(id) ?? []) ?? [];
  return carried.find((group) => group.name === name && facts.isCluster(group.tags));
}

/** Puts together what was found. Undefined when it is nothing. */
export function assemble(pieces: ClassicPieces): ClassicObserved | undefined {
  const { subject, balancer, isOurs, adopted } = pieces;
  const group = ownGroupIn(pieces);
  if (balancer === undefined && group === undefined) return undefined;
  const tags = balancer?.tags ?? group?.tags ?? {};
  const ours = balancer === undefined ? group !== undefined : isOurs || group !== undefined;
  return {
    kind: 'classic',
    pieces,
    // A name is used again, and the number in the host's name is not.
    id: balancer?.hostname,
    name: subject.name,
    owner: ours ? subject.owner : undefined,
    state: 'active',
    ingress: balancer !== undefined && isOurs ? [{ hostname: balancer.hostname }] : [],
    members: balancer !== undefined && isOurs ? membersOf(balancer, pieces) : [],
    attached: false,
    ...(adopted && { adopted }),
    retained: tags[ownerTags.retained] !== undefined,
    createdAtMs: balancer?.createdAtMs,
    service: tags[ownerTags.serviceName] ?? tags[ownerTags.retained] ?? (subject.service || undefined),
  };
}

function membersOf(
  { instances }: ClassicLoadBalancer,
  { facts, providerIds }: ClassicPieces,
): readonly ObservedMember[] {
  return instances.map((id) => {
    const zone = facts.instances.get(id)?.zone;
    // What accepts providerIDs takes a bare id, too.
    const providerID = zone ? `aws:///${zone}/${id}` : (providerIds.get(id) ?? id);
    return { providerID, draining: false, healthy: undefined };
  });
}

export function isOwn(balancer: ClassicLoadBalancer, { owner }: Subject): boolean {
  return ownedBy(balancer.tags, owner);
}

/** What everything that is made for one Service carries. */
export function ownTags({ owner, service }: Pick<Subject, 'owner' | 'service'>): Tags {
  return {
    [ownerTags.cluster]: owner.cluster,
    [ownerTags.service]: owner.service,
    [ownerTags.serviceName]: service,
  };
}
