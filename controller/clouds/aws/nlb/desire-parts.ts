import {
  type Found,
  identityOf,
  nameOf,
  type Refusal,
  type ResourceName,
  type Want,
} from '../../../engine/resource.ts';
import { nameHolder } from '../../access.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { type DesiredLoadBalancer, ownerTags } from '../../load-balancers.ts';
import { foundOf, keep, ownOf } from '../standing.ts';
import {
  type Context,
  hostName,
  hostsOf,
  movedTo,
  ownListeners,
  ownName,
  serves,
  targetInstances,
  useOf,
} from './desire-context.ts';
import { desireFirewall, type Firewall } from './desire-firewall.ts';
import { type DesiredListener, standingListener } from './desired-listeners.ts';
import type { ListenerSpec } from './listener-kind.ts';
import { isNetwork, type Listener, type NetworkLoadBalancer, type TargetGroup } from './network-load-balancer.ts';
import { listenerSlot, networkKinds, targetGroupSlot } from './resources.ts';
import { type TargetGroupSpec, type TargetsSpec, targetsOf } from './target-group-spec.ts';

export function firewallOf(context: Context, on: NetworkLoadBalancer | undefined, isAttached: boolean): Firewall {
  const { input, settings, standing, parts } = context;
  const listeners = [...context.listeners, ...(on === undefined ? [] : keptListeners(context, on))];
  const members = input.desired.members.flatMap(({ providerID }) => parts.idOf(providerID) ?? []);
  const instances = [...new Set([...members, ...targetInstances(input)])];
  const needs = [...new Set(listeners.map(({ group }) => `${networkKinds.targetGroup}/${group.name}`))];
  return desireFirewall({ input, settings, listeners, standing, parts, on, isAttached, instances, needs });
}

/** Those that are asked for and cannot be served so, as they stand: what lets traffic in stays with them. */
function keptListeners({ input, listeners }: Context, on: NetworkLoadBalancer): readonly DesiredListener[] {
  const groups = ownOf<TargetGroup>(input, networkKinds.targetGroup);
  return ownListeners(input, on).flatMap(({ body: { port, protocol, certificate, group: arn } }) => {
    const group = groups.find(({ id }) => id === arn)?.body;
    const isAsked = input.desired.ports.some((one) => one.port === port);
    if (!isAsked || group === undefined || listeners.some((one) => one.port === port)) return [];
    return [standingListener({ port, protocol, certificate }, group)];
  });
}

/** Parts on a load balancer of others; where nothing may be added, those alone that stand. */
export function hostWants(given: Context, host: NetworkLoadBalancer, mayAdd: boolean): readonly Want[] {
  const ports = new Set(ownListeners(given.input, host).map(({ body }) => body.port));
  const listeners = mayAdd ? given.listeners : given.listeners.filter(({ port }) => ports.has(port));
  const context = movedTo({ ...given, listeners }, host);
  const firewall = firewallOf(context, host, true);
  given.refusals.push(...firewall.refusals);
  return [useOf(host), ...firewall.wants, ...partsOn(context, hostName, host, context.listeners)];
}

/**
 * Listeners, target groups and targets. A target group that cannot be changed to what is asked for has another name: it
 * is made with all its targets, then the listener turns to it, and at last the old one goes. Healthy targets are not
 * waited for in between: AWS probes none of a group that no listener uses, and sends to all of one in which none is
 * healthy yet.
 */
export function partsOn(
  { input, settings, refusals }: Context,
  within: ResourceName,
  on: NetworkLoadBalancer | undefined,
  listeners: readonly DesiredListener[],
): readonly Want[] {
  const { desired } = input;
  const { service } = desired;
  const { tags } = settings;
  const there = foundOf<Listener>(input, networkKinds.listener).filter((one) => one.within === on?.arn);
  const own = on === undefined ? [] : ownListeners(input, on);
  const isOwn = new Set(own.map(({ id }) => id));
  const groups = ownOf<TargetGroup>(input, networkKinds.targetGroup);
  const details = [networkKinds.targets, networkKinds.groupAttributes];
  const isRead = new Set(details.flatMap((kind) => ownOf(input, kind).map(identityOf)));
  const trusted = targetInstances(input);
  const wants = new Map<ResourceName, Want>();
  const add = (want: Want) => void wants.set(nameOf(want), want);
  for (const { group, ...listener } of listeners) {
    const { port } = listener;
    const ports = desired.ports.filter((one) => one.port === port);
    const holder = there.find(({ body }) => body.port === port);
    if (holder !== undefined && !isOwn.has(holder.id)) {
      refusals.push(conflictOf(desired, on!, holder.body, ports));
      continue;
    }
    const targetGroup: ResourceName = `${networkKinds.targetGroup}/${group.name}`;
    const members = targetsOf(desired.members, group, trusted);
    const spec: TargetGroupSpec = { group, members, service, tags, vpcId: on?.vpcId || undefined };
    const name = `target group ${group.name}`;
    add({ kind: networkKinds.targetGroup, key: group.name, slot: targetGroupSlot(group.name), spec, summary: name });
    const current = groups.find(({ body }) => body.name === group.name);
    const targets: TargetsSpec = { group, members };
    for (const kind of details) {
      if (current !== undefined && !isRead.has(identityOf({ kind, id: current.id }))) continue;
      const inside = kind === networkKinds.targets ? targets : group;
      add({ kind, key: group.name, within: targetGroup, spec: inside, summary: `${kind} of ${group.name}` });
    }
    const asListener: ListenerSpec = { ...listener, group: targetGroup, service, tags };
    add({
      kind: networkKinds.listener,
      key: String(port),
      within,
      slot: listenerSlot('{within}', port),
      needs: [targetGroup, `${networkKinds.targets}/${group.name}`],
      ports,
      spec: asListener,
      summary: `listener ${listener.protocol} ${port} to ${group.name}`,
    });
  }
  // What is asked for and cannot be told stays as it is.
  const ports = new Set(desired.ports.map(({ port }) => port));
  for (const found of own) {
    if (!ports.has(found.body.port) || wants.has(nameOf(found))) continue;
    add({ ...keep(found), within });
    const group = groups.find(({ id }) => id === found.body.group);
    if (group !== undefined && !wants.has(nameOf(group))) keepGroup(input, group).forEach(add);
  }
  return [...wants.values()];
}

function keepGroup(input: DesireInput, group: Found<TargetGroup>): readonly Want[] {
  const want = { ...keep(group), key: group.body.name };
  const kinds = [networkKinds.targets, networkKinds.groupAttributes];
  const inside = kinds.flatMap((kind) => ownOf(input, kind).filter(({ id }) => id === group.id));
  return [want, ...inside.map((one) => ({ ...keep(one), within: nameOf(want) }))];
}

function conflictOf(
  desired: DesiredLoadBalancer,
  on: NetworkLoadBalancer,
  { port, protocol, tags }: Listener,
  ports: DesiredLoadBalancer['ports'],
): Refusal {
  const whose = nameHolder(tags[ownerTags.serviceName], desired);
  return {
    reason: 'Conflict',
    message: `port ${port}: load balancer ${on.name} has a listener ${protocol} ${port} of ${whose}`,
    ports: ports.map((each) => ({ port: each.port, protocol: each.protocol })),
  };
}

/** Everything of this Service as it stands. */
export function keepAll(input: DesireInput): readonly Want[] {
  const own = ownOf<unknown>(input, networkKinds.balancer).filter(({ body }) => isNetwork(body));
  const groups = ownOf<TargetGroup>(input, networkKinds.targetGroup);
  const hosts = hostsOf(input).filter((one) => serves(input, one));
  const on = new Map([
    ...own.map(({ id }) => [id, ownName] as const),
    ...hosts.map(({ arn }) => [arn, hostName] as const),
  ]);
  return [
    ...[networkKinds.front, networkKinds.rule].flatMap((kind) => ownOf(input, kind).map(keep)),
    ...own.map(keep),
    ...hosts.slice(0, 1).map(useOf),
    ...groups.flatMap((group) => keepGroup(input, group)),
    ...ownOf(input, networkKinds.listener).flatMap((one) => {
      const within = on.get(one.within ?? '');
      return within === undefined ? [] : [{ ...keep(one), within }];
    }),
  ];
}
