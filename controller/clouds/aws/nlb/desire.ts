import { aws } from '../../../../common/provider-id/aws.ts';
import {
  type Desire,
  type Found,
  identityOf,
  nameOf,
  type Refusal,
  type ResourceName,
  type Want,
} from '../../../engine/resource.ts';
import { accessTo, nameHolder } from '../../access.ts';
import type { Asked } from '../../load-balancer-driver.ts';
import { type DesiredLoadBalancer, ownerTags, type Refusal as ToldRefusal } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';
import { slotOf } from '../load-balancer-view.ts';
import { judgeGroups } from '../security-groups/allowed-groups.ts';
import { frontKeys } from '../security-groups/group-resources.ts';
import { type DesireParts, keep, known, ownOf, type Standing, standingOf } from '../standing.ts';
import { addressChange, lostSubnets, type NetworkSpec } from './balancer-spec.ts';
import { desireFirewall, type Firewall } from './desire-firewall.ts';
import type { ListenerSpec } from './listener-kind.ts';
import { targetGroupName } from './names.ts';
import {
  isNetwork,
  type Listener,
  type NetworkLoadBalancer,
  type TargetGroup,
  type TargetList,
} from './network-load-balancer.ts';
import { listenerSlot, networkKinds, targetGroupSlot } from './resources.ts';
import { type NlbSettings, readNlbSettings } from './settings.ts';
import { type TargetGroupSpec, type TargetsSpec, targetsOf } from './target-group-spec.ts';
import { asItStands, standingListener, type WantedListener, wantedListeners } from './wanted.ts';

const ownName: ResourceName = `${networkKinds.balancer}/main`;
const hostName: ResourceName = `${networkKinds.balancer}/host`;

/** Everything that is needed to tell what serves one Service. */
interface Context {
  readonly asked: Asked;
  readonly settings: NlbSettings;
  readonly standing: Standing<NetworkLoadBalancer>;
  readonly listeners: readonly WantedListener[];
  readonly parts: DesireParts;
  readonly refusals: Refusal[];
}

/** The resources that serve a Service by a network load balancer. What is not understood stays as it is. Pure. */
export function desireNetwork(given: Asked, parts: DesireParts): Desire {
  const mine = given.mine();
  const asked: Asked = { ...given, mine: () => mine };
  const { desired } = asked;
  const { service, attach } = desired;
  const standing = standingOf(asked, isNetwork, frontKeys.network);
  const read = readNlbSettings(desired, { managed: parts.config.managedNlbSecurityGroups });
  const settings = permitted(read, desired, parts, standing);
  const hosts = hostsOf(asked);
  const on = attach ? hosts.find(({ arn }) => arn === attach.id) : (standing.balancer ?? hosts[0]);
  const groups = new Map(ownOf<TargetGroup>(asked, networkKinds.targetGroup).map(({ id, body }) => [id, body]));
  const standingOn = (port: number) =>
    ownOf<Listener>(asked, networkKinds.listener).find(({ within, body }) => within === on?.arn && body.port === port)
      ?.body;
  // What the classic controller made is judged by its own defaults, until it is changed anyway.
  const probe = parts.config.healthProbe ?? (standing.isAdopted ? ({ mode: 'ServiceNodePort' } as const) : undefined);
  const clusterId = parts.view.marks?.tags.id ?? '';
  const wanted = wantedListeners(desired, settings, {
    ...{ clusterId, probe, standing: (port) => standingOn(port)?.protocol },
  });
  const listeners = wanted.listeners.flatMap((one) => {
    const listener = standingOn(one.port);
    const there = listener && { listener, group: groups.get(listener.group ?? '') };
    return asItStands(one, there, settings, { service, clusterId }) ?? [];
  });
  const refusals: Refusal[] = [...settings.refusals, ...settings.notes].map(told);
  refusals.push(...strangers(desired, parts), ...wanted.refusals.map(told));
  const context: Context = { asked, settings, standing, listeners, parts, refusals };
  const wants = attach ? attachedWants(context, hosts) : ownWants(context, hosts);
  return { wants, refusals, remarks: settings.remarks };
}

function told({ reason, ...refusal }: ToldRefusal): Refusal {
  if (reason === 'RetentionNotAllowed') return { ...refusal, reason: 'Unsupported' };
  return { ...refusal, reason: reason === 'ForeignLoadBalancer' ? 'Foreign' : reason };
}

/** Groups that the Service may not name count as unclear: what stands stays. */
function permitted(
  settings: NlbSettings,
  { owner, service }: DesiredLoadBalancer,
  { allowedGroups }: DesireParts,
  { balancer, groups }: Standing<NetworkLoadBalancer>,
): NlbSettings {
  const key = keys.securityGroups;
  const permissions = { allowed: allowedGroups, groups };
  const carried = balancer?.securityGroups ?? [];
  const judged = judgeGroups(key, settings.securityGroups, { owner, service }, permissions, carried);
  const unclear = judged.refusals.length === 0 ? settings.unclear : new Set([...settings.unclear, key]);
  const refusals = [...settings.refusals, ...judged.refusals];
  return { ...settings, unclear, refusals, remarks: [...settings.remarks, ...judged.remarks] };
}

/** Members that cannot be targets here. */
function strangers({ members }: DesiredLoadBalancer, { idOf }: DesireParts): Refusal[] {
  return members
    .filter(({ providerID }) => idOf(providerID) === undefined)
    .map(({ node, providerID }) => {
      const message = `member ${node}: providerID ${JSON.stringify(providerID)} is no instance of EC2 in this region`;
      return { reason: 'Unsupported', message };
    });
}

/** Network load balancers of others: those with listeners of this Service first. */
function hostsOf(asked: Asked): readonly NetworkLoadBalancer[] {
  const own = new Set(ownOf(asked, networkKinds.balancer).map(({ id }) => id));
  const others = known<unknown>(asked, networkKinds.balancer).flatMap(({ body }) =>
    isNetwork(body) && !own.has(body.arn) ? [body] : [],
  );
  return [...others.filter((one) => serves(asked, one)), ...others.filter((one) => !serves(asked, one))];
}

function serves(asked: Asked, { arn }: NetworkLoadBalancer): boolean {
  return ownOf(asked, networkKinds.listener).some(({ within }) => within === arn);
}

/** A target group serves one load balancer: a Service that moves from another one has a second one here. */
function movedTo(context: Context, on: NetworkLoadBalancer | undefined): Context {
  const { asked, parts } = context;
  const groups = new Map(ownOf<TargetGroup>(asked, networkKinds.targetGroup).map(({ id, body }) => [id, body.name]));
  const here = new Set<string>();
  const elsewhere = new Set<string>();
  for (const { within, body } of ownOf<Listener>(asked, networkKinds.listener))
    (within === on?.arn ? here : elsewhere).add(groups.get(body.group ?? '') ?? '');
  const clusterId = `${parts.view.marks?.tags.id ?? ''} moved`;
  const listeners = context.listeners.map((one): WantedListener => {
    const name = targetGroupName(clusterId, asked.desired.service, one.group);
    const isSecond = here.has(name) || elsewhere.has(one.group.name);
    return isSecond ? { ...one, group: { ...one.group, name } } : one;
  });
  return { ...context, listeners };
}

function ownWants(given: Context, hosts: readonly NetworkLoadBalancer[]): readonly Want[] {
  const context = movedTo(given, given.standing.balancer);
  const { asked, settings, standing, listeners, refusals } = context;
  const { desired } = asked;
  const { balancer } = standing;
  const [host] = hosts.filter((one) => serves(asked, one));
  if (balancer === undefined && host !== undefined && !desired.mayChangeAddress) {
    const uses = `${desired.service} uses load balancer ${host.arn}, which somebody else made`;
    refusals.push({ reason: 'AddressWouldChange', message: `${uses}; one of its own has another address` });
    const { may } = accessTo({ what: `load balancer ${host.arn}`, consent: host.tags[ownerTags.consent] }, desired);
    return hostWants(given, host, may === 'use');
  }
  if (balancer === undefined) {
    // Something else than what was meant is not made.
    if (settings.refusals.length > 0 || listeners.length === 0) return keepAll(asked);
    const inTheWay = known(asked, networkKinds.balancer).find(
      (one) => one.slots?.includes(slotOf(desired.name)) && !asked.mine().includes(one),
    );
    if (inTheWay !== undefined) {
      const kept = inTheWay.retained ? ' any more: it was kept on purpose' : '';
      const why = `and its tags do not say that it is of ${desired.service}${kept}`;
      const message = `load balancer ${inTheWay.id} has the name ${desired.name}, ${why}`;
      refusals.push({ reason: 'Foreign', message });
      return keepAll(asked);
    }
  }
  const firewall = firewallOf(context, balancer, false);
  refusals.push(...firewall.refusals);
  if (balancer === undefined && firewall.refusals.length > 0) return keepAll(asked);
  const spec = specOf(context, firewall);
  const want: Want<NetworkSpec> = {
    ...{ kind: networkKinds.balancer, key: 'main', slot: slotOf(desired.name), spec },
    carriesAddress: balancer?.state !== 'failed',
    needs: (firewall.groups ?? []).filter((group) => !group.startsWith('sg-')),
    summary: summaryOf(spec, listeners),
  };
  const isRead = known(asked, networkKinds.attributes).some(({ id }) => id === balancer?.arn);
  const attributes: Want = {
    ...{ kind: networkKinds.attributes, key: 'main', within: ownName, spec: spec.attributes },
    summary: `attributes of ${desired.name}`,
  };
  return [
    ...firewall.wants,
    want,
    ...(balancer === undefined || isRead ? [attributes] : []),
    ...partsOn(context, ownName, balancer, listeners),
  ];
}

/** As asked for, but for another address without consent, or where nothing certain comes in its place. */
function specOf(context: Context, firewall: Firewall): NetworkSpec {
  const { asked, settings, standing, listeners, refusals } = context;
  const { service, name, families, mayChangeAddress } = asked.desired;
  const { balancer } = standing;
  const { scheme, unclear, subnets, eips, privateAddresses, crossZone, accessLog, tags } = settings;
  const attributes: Record<string, string> = {};
  if (!unclear.has(keys.crossZone)) attributes['load_balancing.cross_zone.enabled'] = String(crossZone);
  if (!unclear.has(keys.accessLogEnabled)) {
    attributes['access_logs.s3.enabled'] = String(accessLog !== undefined);
    if (accessLog) attributes['access_logs.s3.bucket'] = accessLog.bucket;
    if (accessLog) attributes['access_logs.s3.prefix'] = accessLog.prefix;
  }
  const spec: NetworkSpec = {
    ...{ name, service, tags, attributes, groups: firewall.groups },
    scheme: unclear.has(keys.scheme) || unclear.has(keys.internal) ? undefined : scheme,
    addressType: families.includes('IPv6') ? 'dualstack' : 'ipv4',
    place: unclear.has(keys.subnets) ? undefined : { subnets, eips, privateAddresses },
  };
  if (balancer === undefined) return spec;
  const other = addressChange(balancer, spec);
  const lost = spec.place === undefined ? [] : lostSubnets(balancer, spec.place);
  const inTheWay = other === undefined ? undefined : guestsRefusal(asked);
  const isCertain =
    settings.refusals.length === 0 && listeners.length > 0 && firewall.refusals.length === 0 && inTheWay === undefined;
  if ((other === undefined && lost.length === 0) || (mayChangeAddress && isCertain)) return spec;
  if (!mayChangeAddress && balancer.state !== 'failed') {
    const why = other ?? `its addresses in ${lost.join(', ')} would go, see ${keys.subnets}`;
    refusals.push({ reason: 'AddressWouldChange', message: `load balancer ${name} (${balancer.arn}): ${why}` });
  } else if (inTheWay !== undefined) refusals.push(inTheWay);
  return { ...spec, scheme: undefined, place: undefined };
}

/** Why its own load balancer cannot be replaced: others have listeners on it. Until they have gone, it serves. */
export function guestsRefusal(asked: Asked): Refusal | undefined {
  const own = ownOf<unknown>(asked, networkKinds.balancer).find(({ body }) => isNetwork(body));
  if (own === undefined) return undefined;
  const mine = new Set(ownOf(asked, networkKinds.listener).map(({ id }) => id));
  const guests = known<Listener>(asked, networkKinds.listener).filter(
    ({ id, within }) => within === own.id && !mine.has(id),
  );
  if (guests.length === 0) return undefined;
  const listeners = guests.map(({ body: { protocol, port } }) => `${protocol} ${port}`).join(', ');
  return { reason: 'InUse', message: `load balancer ${own.id} stays: listeners ${listeners} are of others` };
}

function summaryOf(
  { name, service, scheme = 'internet-facing' }: NetworkSpec,
  listeners: readonly WantedListener[],
): string {
  const ports = listeners.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
  return `${scheme} network load balancer ${name} for ${service}: ${ports}`;
}

/** The Service asks for one that others made. */
function attachedWants(context: Context, hosts: readonly NetworkLoadBalancer[]): readonly Want[] {
  const { asked, settings, standing, refusals } = context;
  const { desired } = asked;
  const { id, allowed } = desired.attach!;
  if (standing.balancer?.arn === id) return ownWants(context, hosts);
  const refuse = (reason: Refusal['reason'], message: string) => {
    refusals.push({ reason, message });
    return instead();
  };
  /** What it has goes on. */
  const instead = (): readonly Want[] => {
    if (standing.balancer !== undefined) return ownWants(context, hosts);
    const [current] = hosts.filter((one) => serves(asked, one));
    return current === undefined ? keepAll(asked) : hostWants(context, current, false);
  };
  const host = hosts.find(({ arn }) => arn === id);
  if (host === undefined) {
    const expected = 'expected the ARN of a network load balancer';
    return refuse('Unsupported', `load balancer ${JSON.stringify(id)} does not exist in this region, ${expected}`);
  }
  if (host.type !== 'network') return refuse('Unsupported', `load balancer ${id} is no network load balancer`);
  const numbers = new Set(ownListeners(asked, host).map(({ body }) => body.port));
  const served = desired.ports.filter(({ port }) => numbers.has(port));
  const consent = host.tags[ownerTags.consent];
  const access = accessTo({ what: `load balancer ${id}`, consent, allowed, served }, desired);
  if (access.may !== 'use') refusals.push(told(access.refusal));
  if (access.may === 'nothing') return instead();
  const elsewhere = standing.balancer ?? hosts.find((one) => one !== host && serves(asked, one));
  if (elsewhere !== undefined && !desired.mayChangeAddress && numbers.size === 0) {
    const message = `${desired.service} uses load balancer ${elsewhere.arn}, and ${id} has another address`;
    return refuse('AddressWouldChange', message);
  }
  if (desired.families.includes('IPv6') && host.addressType === 'ipv4')
    refusals.push({ reason: 'Unsupported', message: `spec.ipFamilies: load balancer ${id} has no IPv6 address` });
  if (settings.refusals.length > 0 && numbers.size === 0) return keepAll(asked);
  return hostWants(context, host, access.may === 'use');
}

/** Parts on a load balancer of others; where nothing may be added, those alone that stand. */
function hostWants(given: Context, host: NetworkLoadBalancer, mayAdd: boolean): readonly Want[] {
  const ports = new Set(ownListeners(given.asked, host).map(({ body }) => body.port));
  const listeners = mayAdd ? given.listeners : given.listeners.filter(({ port }) => ports.has(port));
  const context = movedTo({ ...given, listeners }, host);
  const firewall = firewallOf(context, host, true);
  given.refusals.push(...firewall.refusals);
  return [useOf(host), ...firewall.wants, ...partsOn(context, hostName, host, context.listeners)];
}

function useOf({ arn: id, name }: NetworkLoadBalancer): Want {
  const use = { id, allowed: true };
  return { kind: networkKinds.balancer, key: 'host', use, spec: undefined, summary: `load balancer ${name}` };
}

function firewallOf(context: Context, on: NetworkLoadBalancer | undefined, isAttached: boolean): Firewall {
  const { asked, settings, standing, parts } = context;
  const listeners = [...context.listeners, ...(on === undefined ? [] : keptListeners(context, on))];
  const members = asked.desired.members.flatMap(({ providerID }) => parts.idOf(providerID) ?? []);
  const instances = [...new Set([...members, ...targetInstances(asked)])];
  const needs = [...new Set(listeners.map(({ group }) => `${networkKinds.targetGroup}/${group.name}`))];
  return desireFirewall({ asked, settings, listeners, standing, parts, on, isAttached, instances, needs });
}

/** Those that are asked for and cannot be served so, as they stand: what lets traffic in stays with them. */
function keptListeners({ asked, listeners }: Context, on: NetworkLoadBalancer): readonly WantedListener[] {
  const groups = ownOf<TargetGroup>(asked, networkKinds.targetGroup);
  return ownListeners(asked, on).flatMap(({ body: { port, protocol, certificate, group: arn } }) => {
    const group = groups.find(({ id }) => id === arn)?.body;
    const isAsked = asked.desired.ports.some((one) => one.port === port);
    if (!isAsked || group === undefined || listeners.some((one) => one.port === port)) return [];
    return [standingListener({ port, protocol, certificate }, group)];
  });
}

/** Ids of instances that serve the Service on any port. */
function targetInstances(asked: Asked): readonly string[] {
  const targets = ownOf<TargetList>(asked, networkKinds.targets).flatMap(({ body }) => body.targets);
  return [...new Set(targets.flatMap(({ providerID }) => aws.parse(providerID)?.instanceId ?? []))];
}

function ownListeners(asked: Asked, { arn }: NetworkLoadBalancer): readonly Found<Listener>[] {
  return ownOf<Listener>(asked, networkKinds.listener).filter(({ within }) => within === arn);
}

/**
 * Listeners, target groups and targets. A target group that cannot be changed to what is asked for has another name: it
 * is made with all its targets, then the listener turns to it, and at last the old one goes. Healthy targets are not
 * waited for in between: AWS probes none of a group that no listener uses, and sends to all of one in which none is
 * healthy yet.
 */
function partsOn(
  { asked, settings, refusals }: Context,
  within: ResourceName,
  on: NetworkLoadBalancer | undefined,
  listeners: readonly WantedListener[],
): readonly Want[] {
  const { desired } = asked;
  const { service } = desired;
  const { tags } = settings;
  const there = known<Listener>(asked, networkKinds.listener).filter((one) => one.within === on?.arn);
  const own = on === undefined ? [] : ownListeners(asked, on);
  const isOwn = new Set(own.map(({ id }) => id));
  const groups = ownOf<TargetGroup>(asked, networkKinds.targetGroup);
  const details = [networkKinds.targets, networkKinds.groupAttributes];
  const isRead = new Set(details.flatMap((kind) => ownOf(asked, kind).map(identityOf)));
  const trusted = targetInstances(asked);
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
      ...{ kind: networkKinds.listener, key: String(port), within, slot: listenerSlot('{within}', port) },
      ...{ needs: [targetGroup, `${networkKinds.targets}/${group.name}`], ports, spec: asListener },
      summary: `listener ${listener.protocol} ${port} to ${group.name}`,
    });
  }
  // What is asked for and cannot be told stays as it is.
  const ports = new Set(desired.ports.map(({ port }) => port));
  for (const found of own) {
    if (!ports.has(found.body.port) || wants.has(nameOf(found))) continue;
    add({ ...keep(found), within });
    const group = groups.find(({ id }) => id === found.body.group);
    if (group !== undefined && !wants.has(nameOf(group))) keepGroup(asked, group).forEach(add);
  }
  return [...wants.values()];
}

function keepGroup(asked: Asked, group: Found<TargetGroup>): readonly Want[] {
  const want = { ...keep(group), key: group.body.name };
  const kinds = [networkKinds.targets, networkKinds.groupAttributes];
  const inside = kinds.flatMap((kind) => ownOf(asked, kind).filter(({ id }) => id === group.id));
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
function keepAll(asked: Asked): readonly Want[] {
  const own = ownOf<unknown>(asked, networkKinds.balancer).filter(({ body }) => isNetwork(body));
  const groups = ownOf<TargetGroup>(asked, networkKinds.targetGroup);
  const hosts = hostsOf(asked).filter((one) => serves(asked, one));
  const on = new Map([
    ...own.map(({ id }) => [id, ownName] as const),
    ...hosts.map(({ arn }) => [arn, hostName] as const),
  ]);
  return [
    ...[networkKinds.front, networkKinds.rule].flatMap((kind) => ownOf(asked, kind).map(keep)),
    ...own.map(keep),
    ...hosts.slice(0, 1).map(useOf),
    ...groups.flatMap((group) => keepGroup(asked, group)),
    ...ownOf(asked, networkKinds.listener).flatMap((one) => {
      const within = on.get(one.within ?? '');
      return within === undefined ? [] : [{ ...keep(one), within }];
    }),
  ];
}
