import { type ObservedLoadBalancer, type ObservedMember, type Owner, ownerTags } from '../../load-balancers.ts';
import type { ClusterTags } from '../cluster-tags.ts';
import { ownedBy, type Tags } from '../load-balancer-tags.ts';
import type { NetworkFacts, ObservedSecurityGroup } from '../security-groups/network-facts.ts';
import type { Subnet } from '../subnets.ts';
import { isLeft, leftGroups, leftTag } from './left.ts';
import { partNameForm } from './names.ts';
import type { Health } from './wanted.ts';

export interface Listener {
  readonly arn: string;
  readonly port: number;
  readonly protocol: string;
  readonly policy: string | undefined;
  readonly certificate: string | undefined;
  /** Of the target group that it forwards to; undefined where it does something else. */
  readonly group: string | undefined;
  readonly tags: Tags;
}

export interface Target {
  /** Instance id or IP address. */
  readonly id: string;
  readonly providerID: string;
  /** Undefined while AWS does not know yet. */
  readonly healthy: boolean | undefined;
}

export interface TargetGroup {
  readonly arn: string;
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  readonly targetType: string;
  readonly ipType: string;
  readonly health: Health;
  /** ARNs of those whose listeners forward to it. */
  readonly loadBalancers: readonly string[];
  readonly tags: Tags;
  /** Those that drain are not among them: AWS lets them go by itself. */
  readonly targets: readonly Target[];
  readonly attributes: Tags;
}

/** Where a load balancer stands in one zone. */
export interface Place {
  readonly zone: string;
  readonly subnet: string;
  readonly eip: string | undefined;
  readonly privateAddress: string | undefined;
}

export interface LoadBalancer {
  readonly arn: string;
  readonly name: string;
  readonly type: string;
  readonly hostname: string;
  readonly scheme: string;
  readonly state: ObservedLoadBalancer['state'];
  readonly vpcId: string;
  readonly addressType: string;
  readonly places: readonly Place[];
  readonly securityGroups: readonly string[];
  readonly createdAtMs: number | undefined;
  readonly tags: Tags;
  /** Empty where it is not looked into: neither ours nor with parts of ours. */
  readonly listeners: readonly Listener[];
  /** Of ours only. */
  readonly attributes: Tags;
}

/** Whose things are looked at. */
export interface Subject {
  readonly owner: Owner;
  /** That its load balancer has or would have. */
  readonly name: string;
  /** `namespace/name` */
  readonly service: string;
  /** ARN of the load balancer that somebody else made and it is to use. */
  readonly attachTo: string | undefined;
}

/** Everything of one Service, piece by piece. */
export interface Pieces {
  /** Undefined for what was given up on purpose and has no Service any more. */
  readonly subject: Subject | undefined;
  readonly own: LoadBalancer | undefined;
  /** Made by somebody else, with parts of ours; also the one to attach to. */
  readonly hosts: readonly LoadBalancer[];
  /** Not ours: in the way by its name, or given up. */
  readonly foreign: LoadBalancer | undefined;
  /** Ours. */
  readonly groups: readonly TargetGroup[];
  /** ARNs of load balancers that were asked for, or were there a moment ago, and are not. */
  readonly ended: readonly string[];
  readonly network: NetworkFacts;
  /** Of the VPC; empty where no load balancer without a security group needs them. */
  readonly subnets: readonly Subnet[];
  /** Some piece is ours by adoption and has no tag of ours. */
  readonly adopted: boolean;
  readonly cluster: ClusterTags;
}

export interface NlbObserved extends ObservedLoadBalancer {
  readonly kind: 'nlb';
  readonly pieces: Pieces;
}

type Standing = Pick<Pieces, 'own' | 'groups' | 'adopted'>;

/**
 * Those that our tags name; on what is ours by adoption also those without an owner that forward to a target group of it. On anybody's else, forwarding to a group of ours
 * proves nothing.
 */
export function ownListeners(one: LoadBalancer, { own, groups, adopted }: Standing, owner: Owner): readonly Listener[] {
  const adopts = adopted && own?.arn === one.arn;
  return one.listeners.filter(({ tags, group }) => {
    if (ownedBy(tags, owner)) return true;
    return adopts && tags[ownerTags.service] === undefined && groups.some(({ arn }) => arn === group);
  });
}

/** What somebody else has on a load balancer: it goes on serving them. */
export function othersListeners(one: LoadBalancer, standing: Standing, owner: Owner): readonly Listener[] {
  const ours = new Set(ownListeners(one, standing, owner));
  return one.listeners.filter((listener) => !ours.has(listener));
}

/** Whether a listener of somebody else forwards to a target group of ours. */
export function servesOthers(group: TargetGroup, pieces: Pieces): boolean {
  const { subject, own, hosts } = pieces;
  return [...(own ? [own] : []), ...hosts].some(
    (one) => subject && othersListeners(one, pieces, subject.owner).some((listener) => listener.group === group.arn),
  );
}

/** Its own Service has left it to others, retained or not, and has nothing on it any more. */
export function isDoneWith({ pieces }: NlbObserved): boolean {
  const { subject, own, groups } = pieces;
  if (!subject || !own || groups.length > 0 || own.tags[leftTag] !== own.arn) return false;
  return ownListeners(own, pieces, subject.owner).length === 0;
}

/** Its own Service is done with it, and somebody else is not. */
export function isLeftToOthers(observed: NlbObserved): boolean {
  return isDoneWith(observed) && observed.pieces.own!.listeners.length > 0;
}

/** The security group in front of a Service's network load balancer, which also tells that something of it is there. */
export function frontGroupOf({ groups }: NetworkFacts, owner: Owner): ObservedSecurityGroup | undefined {
  return [...groups.values()].find(({ name, tags }) => partNameForm.test(name) && ownedBy(tags, owner));
}

/** Puts together what was found. Undefined when it is nothing. */
export function assemble(pieces: Pieces): NlbObserved | undefined {
  const { subject, own, hosts, foreign, groups, network } = pieces;
  const host = subject && hosts.find(({ arn }) => arn === subject.attachTo);
  const serving = subject && hosts.find((one) => ownListeners(one, pieces, subject.owner).length > 0);
  const inUse = serving ?? (own ? undefined : host);
  const main = (subject?.attachTo !== undefined || !own ? inUse : undefined) ?? own ?? foreign;
  const marker = subject && frontGroupOf(network, subject.owner);
  // Nobody else would look after it any more.
  const ends =
    subject !== undefined &&
    (hosts.some((one) => isLeft(one, subject.owner.cluster) && one.listeners.length === 0) ||
      leftGroups(network, subject.owner.cluster, pieces.ended).length > 0);
  const anything = own !== undefined || groups.length > 0 || marker !== undefined || ends;
  if (main === undefined && !anything) return undefined;
  const attached = main !== undefined && main !== own && hosts.includes(main);
  return {
    kind: 'nlb',
    pieces,
    id: main?.arn,
    name: main?.name ?? subject?.name ?? '',
    owner: anything ? subject?.owner : undefined,
    state: main?.state ?? 'active',
    ingress:
      main && (attached ? serving !== undefined : main === own) && main.hostname !== ''
        ? [{ hostname: main.hostname }]
        : [],
    members: membersOf(groups),
    attached,
    adopted: pieces.adopted,
    // Those that it was left to use it.
    retained:
      main?.tags[ownerTags.retained] !== undefined || (subject === undefined && main?.tags[leftTag] !== undefined),
    createdAtMs: main?.createdAtMs,
    service:
      subject && anything ? subject.service : (main?.tags[ownerTags.retained] ?? main?.tags[ownerTags.serviceName]),
  };
}

function membersOf(groups: readonly TargetGroup[]): ObservedMember[] {
  const members = new Map<string, boolean | undefined>();
  for (const { targets } of groups)
    for (const { providerID, healthy } of targets) {
      const before = members.has(providerID) ? members.get(providerID) : true;
      members.set(providerID, before === false || healthy === false ? false : before && healthy);
    }
  return [...members].map(([providerID, healthy]) => ({ providerID, draining: false, healthy }));
}
