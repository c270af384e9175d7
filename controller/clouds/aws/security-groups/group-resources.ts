import { everyService, type Found, type Reference } from '../../../engine/resource.ts';
import { type Owner, ownerTags } from '../../load-balancers.ts';
import type { ClusterTags } from '../cluster-tags.ts';
import { isClassicControllers, ownerIn, serviceNameTag, type Tags } from '../load-balancer-tags.ts';
import { partNameForm, targetGroupPrefix } from '../nlb/names.ts';
import type { Carrier } from './carriers.ts';
import { type IngressRule, ruleKey } from './ingress-rule.ts';
import type { ObservedSecurityGroup } from './network-facts.ts';
import { clientOf, descriptions, healthOf } from './rule-descriptions.ts';
import { isTrafficGroup, isTrafficName } from './traffic-group.ts';

/** Kinds of what security groups show. */
export const groupKinds = {
  /** In front of one load balancer: who may reach it. */
  front: 'security group',
  /** Carried by all load balancers that have a group of their own. */
  traffic: 'traffic group',
  /** One rule in a group of the nodes. */
  rule: 'node rule',
  /** Of the VPC, and of others: those of the nodes, and those that Services name. Only read. */
  others: 'group of others',
} as const;

/** One rule, and the group that it is in. */
export interface NodeRule {
  readonly group: ObservedSecurityGroup;
  readonly rule: IngressRule;
  /** The load balancer whose group in front it lets in, or that its description names. */
  readonly carrier: Carrier | undefined;
}

/** What has to be known beside the groups. */
export interface GroupView {
  /** UID of the namespace kube-system. */
  readonly cluster: string;
  isCluster(tags: Tags): boolean;
  /** Whether an instance that may be a member has this group. */
  isOfNodes(group: string): boolean;
  /** Whose load balancer has, or would have, that name. */
  ownerOf(loadBalancer: string): Owner | undefined;
  /** The load balancer of that name. */
  carrier(loadBalancer: string): Carrier | undefined;
  /** Load balancers that carry a group. */
  carriersOf(group: string): readonly Carrier[];
  /** ARNs. */
  targetGroupsOf(owner: Owner): readonly string[];
  /** Whether health checks of that load balancer ask this port, as far as it is known. */
  mayProbe(loadBalancer: string, port: number): boolean;
}

/** Keys of the group in front of a load balancer of either type: each has names of its own. */
export const frontKeys = { classic: 'main', network: 'network' } as const;

/** The name that the classic controller gives to the group in front of a classic load balancer. */
export function frontName(loadBalancer: string): string {
  return `k8s-elb-${loadBalancer}`;
}

/** Whether the classic controller made it for the load balancer that carries it. */
export function isClassicFront(
  { name, tags, carrier }: FrontBody,
  service: string,
  { marks }: { readonly marks: { readonly tags: ClusterTags } | undefined },
): boolean {
  if (marks === undefined || carrier === undefined || !marks.tags.marks(tags)) return false;
  return name === frontName(carrier.name) || isClassicControllers(tags, service, marks.tags);
}

export interface FrontBody extends ObservedSecurityGroup {
  /** The load balancer that its name is made for, where that carries it. */
  readonly carrier: Carrier | undefined;
}

/** Groups as resources: those in front, the traffic group, others, and in these the rules that are the controller's. */
export function showGroups(groups: Iterable<ObservedSecurityGroup>, view: GroupView): Found[] {
  const all = [...groups];
  const fronts = new Map<string, Front>();
  for (const group of all) {
    const front = frontOf(group, view);
    if (front !== undefined) fronts.set(group.id, front);
  }
  const isOurs = ({ tags }: Carrier) => tags !== undefined && ownerIn(tags, view.cluster) !== undefined;
  // Its tags may have been stripped: without it no load balancer of the cluster could be made.
  const isStripped = ({ id, name }: ObservedSecurityGroup) =>
    isTrafficName(name, view.cluster) && view.carriersOf(id).some(isOurs);
  const traffic = (all.find(({ tags }) => isTrafficGroup(tags, view.cluster)) ?? all.find(isStripped))?.id;
  return all.flatMap((group): Found[] => {
    const front = fronts.get(group.id);
    if (front !== undefined) return [showFront(group, front)];
    if (group.id === traffic || isTrafficGroup(group.tags, view.cluster))
      return [showTraffic(group, view, [...fronts.keys()])];
    const other = { kind: groupKinds.others, id: group.id, status: 'ready', body: group } as const;
    return [other, ...group.ingress.flatMap((rule) => showRule(group, rule, { view, fronts, traffic }) ?? [])];
  });
}

type Front = NonNullable<ReturnType<typeof frontOf>>;

/** By its name, and by its tags; where these were taken off, by the load balancer of its name that carries it. */
function frontOf(group: ObservedSecurityGroup, view: GroupView) {
  const isClassic = group.name.startsWith(frontName(''));
  if (!isClassic && !partNameForm.test(group.name)) return undefined;
  const key = isClassic ? frontKeys.classic : frontKeys.network;
  const carrier = view.carriersOf(group.id).find(({ name, tags }) => {
    if (isClassic) return frontName(name) === group.name;
    const service = tags?.[ownerTags.serviceName] ?? tags?.[serviceNameTag];
    return service !== undefined && group.name.startsWith(targetGroupPrefix(service));
  });
  const tagged = ownerIn(group.tags, view.cluster);
  const isTagged = tagged !== undefined || group.tags[ownerTags.cluster] !== undefined;
  const isOfAnother = isTagged && group.tags[ownerTags.cluster] !== view.cluster;
  const owner = tagged ?? (isOfAnother || carrier === undefined ? undefined : view.ownerOf(carrier.name));
  // Other controllers give such names, too.
  const isFront = isClassic || owner !== undefined || carrier !== undefined || isTagged;
  return isFront ? { owner, carrier, key } : undefined;
}

function showFront(group: ObservedSecurityGroup, { owner, carrier, key }: Front): Found<FrontBody> {
  return {
    kind: groupKinds.front,
    id: group.id,
    // Only its name and its load balancer give stripped tags back: the Service's annotations can name any group.
    ...(owner === undefined ? { consentForAnyCluster: true } : { owner, key }),
    slots: [`security group ${group.name}`],
    status: 'ready',
    retained: owner === undefined && group.tags[ownerTags.retained] !== undefined,
    body: { ...group, carrier },
  };
}

function showTraffic(group: ObservedSecurityGroup, { cluster }: GroupView, fronts: readonly string[]): Found {
  return {
    kind: groupKinds.traffic,
    id: group.id,
    owner: { cluster, service: everyService },
    key: 'main',
    slots: ['traffic group'],
    // The group in front tells that something is left to do: it goes last.
    refs: fronts.map((id): Reference => ({ role: 'front', kind: groupKinds.front, id, loose: true, proof: true })),
    status: 'ready',
    body: group,
  };
}

interface RuleContext {
  readonly view: GroupView;
  /** By id of the group in front: whose it is. */
  readonly fronts: ReadonlyMap<string, Front>;
  /** Id of the traffic group. */
  readonly traffic: string | undefined;
}

/** Undefined for rules of persons and of other controllers. */
function showRule(group: ObservedSecurityGroup, rule: IngressRule, context: RuleContext): Found<NodeRule> | undefined {
  const { view, traffic } = context;
  const owner = ownerOfRule(group, rule, context);
  const loadBalancer = clientOf(rule) ?? healthOf(rule);
  const named = loadBalancer === undefined ? undefined : view.carrier(loadBalancer);
  const carrier = rule.description === undefined ? context.fronts.get(rule.source)?.carrier : named;
  // What the classic controller made may be taken over.
  if (owner === undefined && carrier === undefined) return undefined;
  const key = nodeRuleKey(group.id, rule.source === traffic ? { ...rule, source: groupKinds.traffic } : rule);
  const refs: Reference[] = [];
  if (rule.source === traffic) refs.push({ role: 'source', kind: groupKinds.traffic, id: rule.source });
  else if (context.fronts.has(rule.source)) refs.push({ role: 'source', kind: groupKinds.front, id: rule.source });
  // The load balancer, or its rules, tell that it is here: shared rules go first, and the load balancer last.
  else if (named !== undefined) refs.push({ role: 'of', kind: balancerKind, id: named.id, loose: true, proof: true });
  // One that uses a load balancer of others is known by its target groups.
  if (owner !== undefined && loadBalancer !== undefined)
    for (const id of view.targetGroupsOf(owner))
      refs.push({ role: 'of', kind: targetGroupKind, id, loose: true, proof: true });
  if (owner?.service === everyService) {
    for (const client of neededFor(rule, group))
      refs.push({ role: 'for', kind: groupKinds.rule, id: nodeRuleKey(group.id, client), loose: true, proof: true });
  }
  return {
    kind: groupKinds.rule,
    id: nodeRuleKey(group.id, rule),
    ...(owner !== undefined && { owner }),
    key,
    slots: [`node rule ${key}`],
    refs,
    status: 'ready',
    body: { group, rule, carrier },
  };
}

/** Of load balancers of either type. */
export const balancerKind = 'load balancer';
export const targetGroupKind = 'target group';

function ownerOfRule(
  group: ObservedSecurityGroup,
  rule: IngressRule,
  { view, fronts }: RuleContext,
): Owner | undefined {
  const { cluster } = view;
  const everybody: Owner = { cluster, service: everyService };
  const loadBalancer = clientOf(rule) ?? healthOf(rule);
  if (loadBalancer !== undefined) return view.ownerOf(loadBalancer);
  const ofNodes = view.isCluster(group.tags) || view.isOfNodes(group.id);
  const isTraffic = rule.description === descriptions.traffic(cluster);
  const front = fronts.get(rule.source)?.owner;
  // The classic controller lets it in to the nodes by a rule without a description.
  if (front !== undefined && rule.protocol === '-1' && (isTraffic || (rule.description === undefined && ofNodes)))
    return front;
  if (isTraffic || rule.description === descriptions.sharedHealth(cluster)) return everybody;
  return rule.description === descriptions.mtu && ofNodes ? everybody : undefined;
}

/** Equal for rules that EC2 takes for the same one; the source `traffic group` stands for that of the cluster. */
export function nodeRuleKey(group: string, rule: IngressRule): string {
  return `${group} ${ruleKey(rule)}`;
}

/** Rules of load balancers' clients that a shared rule serves, too. */
function neededFor({ description, source }: IngressRule, { ingress }: ObservedSecurityGroup): readonly IngressRule[] {
  if (description === undefined) return [];
  const isAnySource = description !== descriptions.mtu && !source.startsWith('sg-');
  return ingress.filter((rule) => clientOf(rule) !== undefined && (isAnySource || rule.source === source));
}

/** Names of the load balancers that need a rule that several share. `carriersOf`: undefined = not known. */
export function usersOfRule(
  { group, rule }: Pick<NodeRule, 'group' | 'rule'>,
  { cluster, mayProbe }: Pick<GroupView, 'cluster' | 'mayProbe'>,
  carriersOf: (group: string) => readonly string[] | undefined,
): readonly string[] | undefined {
  if (rule.description !== descriptions.traffic(cluster)) {
    const isHealth = rule.description === descriptions.sharedHealth(cluster);
    const names = neededFor(rule, group).flatMap((client) => clientOf(client) ?? []);
    return names.filter((name) => !isHealth || mayProbe(name, rule.fromPort));
  }
  // What earlier versions let in from a group of a person goes when each that carries it has rules of its own.
  const hasOwn = (name: string) =>
    group.ingress.some((other) => other.source === rule.source && clientOf(other) === name);
  return carriersOf(rule.source)?.filter((name) => !hasOwn(name));
}
