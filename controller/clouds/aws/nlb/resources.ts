import type { Change, Comparison, Found } from '../../../engine/resource.ts';
import { ownerTags } from '../../load-balancers.ts';
import { isClassicControllers, ownerIn, serviceNameTag, type Tags } from '../load-balancer-tags.ts';
import { isRetained, type LoadBalancerView, slotOf } from '../load-balancer-view.ts';
import { balancerKind, groupKinds, targetGroupKind } from '../security-groups/group-resources.ts';
import type { Listener, NetworkLoadBalancer, TargetGroup } from './network-load-balancer.ts';

export const networkKinds = {
  ...groupKinds,
  balancer: balancerKind,
  /** Of one load balancer; no list shows them. */
  attributes: 'network attributes',
  listener: 'listener',
  targetGroup: targetGroupKind,
  /** Of one target group; no list shows them. */
  targets: 'targets',
  groupAttributes: 'target group attributes',
} as const;

/** The classic controller of this cluster made it for a Service, and no tag of ours is on it. */
function isAdoptable(tags: Tags, { marks }: Pick<LoadBalancerView, 'marks'>): boolean {
  const service = tags[serviceNameTag];
  return service !== undefined && marks !== undefined && isClassicControllers(tags, service, marks.tags);
}

/** Ours, and of no Service any more: kept with its load balancer when that Service went. */
function isKept(tags: Tags, cluster: string): boolean {
  return tags[ownerTags.cluster] === cluster && tags[ownerTags.service] === undefined;
}

/** @param used ARNs of all target groups that its listeners forward to: they tell of changes of these */
export function showNetworkBalancer(
  balancer: NetworkLoadBalancer,
  view: LoadBalancerView,
  used: readonly string[] = [],
): Found<NetworkLoadBalancer> {
  const { arn, name, hostname, securityGroups, tags, state } = balancer;
  const owner = ownerIn(tags, view.cluster);
  const version = view.forwards.version(arn, used);
  return {
    kind: networkKinds.balancer,
    id: arn,
    ...(owner !== undefined && { owner, key: 'main' }),
    slots: [slotOf(name)],
    refs: view.groupRefs(securityGroups),
    status: state === 'failed' ? 'failed' : 'ready',
    ...(version !== undefined && { version }),
    consentForAnyCluster: tags[ownerTags.consent] !== undefined,
    adoptable: isAdoptable(tags, view),
    retained: isRetained(tags, view.cluster),
    // One that has failed serves no address that could be lost.
    ...(state !== 'failed' && { address: hostname }),
    body: balancer,
  };
}

/**
 * Its tags say whose it is. Where these were stripped by hand, the load balancer that it is on and the target group
 * that it forwards to do, if both are of one Service.
 */
export function showListener(
  listener: Listener,
  on: Pick<NetworkLoadBalancer, 'arn' | 'tags'>,
  view: Pick<LoadBalancerView, 'cluster' | 'targetGroupsOf'>,
): Found<Listener> {
  const { arn, port, group = '', tags } = listener;
  const host = tags[ownerTags.cluster] === undefined ? ownerIn(on.tags, view.cluster) : undefined;
  const isStripped = host !== undefined && view.targetGroupsOf(host).includes(group);
  const owner = ownerIn(tags, view.cluster) ?? (isStripped ? host : undefined);
  const retained = isKept(tags, view.cluster);
  // The classic controller marks all that it makes for one Service alike, and these marks stay.
  const isOfSame = tags[serviceNameTag] !== undefined && tags[serviceNameTag] === on.tags[serviceNameTag];
  return {
    kind: networkKinds.listener,
    id: arn,
    ...(owner !== undefined && { owner }),
    ...((owner !== undefined || (isOfSame && (retained || tags[ownerTags.cluster] === undefined))) && {
      key: String(port),
    }),
    within: on.arn,
    slots: [listenerSlot(on.arn, port)],
    refs: group === '' ? [] : [{ role: 'group', kind: networkKinds.targetGroup, id: group }],
    status: 'ready',
    retained,
    body: listener,
  };
}

/** @param on ARN of the load balancer, or `{within}` */
export function listenerSlot(on: string, port: number): string {
  return `${on} ${port}`;
}

export function targetGroupSlot(name: string): string {
  return `target group ${name}`;
}

/**
 * Its tags say whose it is. What the classic controller made is ours with the load balancer that it forwards to once
 * that was taken over, and so is what was kept with a load balancer that is ours again, or still. The name of the
 * Service alone proves nothing.
 *
 * @param isNear of a load balancer that is looked at
 */
export function showTargetGroup(
  group: TargetGroup,
  view: Pick<LoadBalancerView, 'cluster' | 'marks' | 'takenOverBy'>,
  isNear = true,
): Found<TargetGroup> {
  const isClassic = isAdoptable(group.tags, view);
  const isFree = group.loadBalancers.length > 0 && (isClassic || isKept(group.tags, view.cluster));
  const takenOver = isFree ? view.takenOverBy(group.tags[serviceNameTag] ?? '', group.loadBalancers) : undefined;
  const owner = ownerIn(group.tags, view.cluster) ?? takenOver;
  return {
    kind: networkKinds.targetGroup,
    id: group.arn,
    ...(owner !== undefined && { owner, key: group.name }),
    slots: [targetGroupSlot(group.name)],
    adoptable: isNear && isClassic,
    status: 'ready',
    body: group,
  };
}

type DetailKind = (typeof networkKinds)['attributes' | 'targets' | 'groupAttributes'];

/** What no list shows of a load balancer or a target group. */
export function showDetail<Body extends { readonly name: string }>(
  kind: DetailKind,
  arn: string,
  body: Body,
): Found<Body> {
  const key = kind === networkKinds.attributes ? 'main' : body.name;
  return { kind, id: arn, key, within: arn, status: 'ready', body };
}

/** `defaults`: what a new one has; otherwise nothing. */
export function attributeChanges(
  what: string,
  { there, asked, defaults }: { readonly there: Tags; readonly asked: Tags; readonly defaults: Tags },
): readonly Change[] {
  const differing = Object.entries(asked).filter(([key, value]) => (there[key] ?? defaults[key] ?? '') !== value);
  if (differing.length === 0) return [];
  const summary = `${what}: ${differing.map(([key, value]) => `${key}=${value}`).join(', ')}`;
  return [{ what: 'attributes', phase: 'set', summary, body: Object.fromEntries(differing) }];
}

export function comparison(changes: readonly Change[]): Comparison {
  return changes.length > 0 ? { changes } : { same: true };
}
