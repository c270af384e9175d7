import { type Desire, nameOf, type Refusal, type ResourceName, type Want } from '../../../engine/resource.ts';
import { whyNotOwn } from '../../access.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';
import { ownedBy } from '../load-balancer-tags.ts';
import { slotOf } from '../load-balancer-view.ts';
import { judgeGroups } from '../security-groups/allowed-groups.ts';
import { frontKeys } from '../security-groups/group-resources.ts';
import { foundOf, keepAll, standingOf } from '../standing.ts';
import { chooseSubnets } from '../subnets.ts';
import { sameSet } from './balancer-changes.ts';
import type { BalancerSpec, Member } from './balancer-spec.ts';
import { type ClassicLoadBalancer, probedPort } from './classic-load-balancer.ts';
import { type DesireParts, desireGroups, nodeRules, type Standing } from './desire-firewall.ts';
import { type AttributesBody, classicKinds, isClassic } from './resources.ts';
import { type ClassicSettings, readClassicSettings } from './settings.ts';

const balancerName: ResourceName = `${classicKinds.balancer}/main`;

/** The resources that serve a Service by a classic load balancer. What is not understood stays as it is. Pure. */
export function desireClassic(given: DesireInput, parts: DesireParts): Desire {
  const own = given.own();
  const input: DesireInput = { ...given, own: () => own };
  const { desired } = input;
  const standing = standingOf(input, isClassic, frontKeys.classic);
  const read = readClassicSettings(desired, parts.config);
  const settings = permitted(read, desired, parts, standing);
  const { members, nonMembers } = sortMembers(desired, parts);
  const refusals: Refusal[] = [...settings.refusals, ...settings.notes, ...nonMembers, ...attachRefusals(desired)];
  const { remarks } = settings;
  const { balancer } = standing;
  const kept = () => ({ wants: keepAll(input), refusals, remarks });
  if (balancer === undefined) {
    // Something else than what was meant is not made.
    if (settings.refusals.length > 0 || desired.attach || !settings.listeners?.length) return kept();
    const inTheWay = foundOf<ClassicLoadBalancer>(input, classicKinds.balancer).find(
      (one) => one.slots?.includes(slotOf(desired.name)) && !own.includes(one),
    );
    if (inTheWay !== undefined) {
      const why = whyNotOwn(desired, inTheWay.retained);
      const message = `load balancer ${desired.name} has the name, and ${why}`;
      refusals.push({ reason: 'ForeignLoadBalancer', message });
      return kept();
    }
  }
  const scheme = schemeOf(settings, desired, balancer, refusals);
  const isReplaced = scheme !== undefined && balancer !== undefined && (balancer.scheme === 'internal') !== scheme;
  const subnets = subnetsOf(settings, isReplaced ? undefined : balancer, parts, refusals);
  const front = desireGroups(input, settings, standing, parts);
  refusals.push(...front.refusals);
  const rules = nodeRules(input, settings, standing, parts, members, front.groups);
  refusals.push(...rules.refusals);
  const spec: BalancerSpec = {
    name: desired.name,
    service: desired.service,
    internal: scheme,
    namedSubnets: settings.subnets ?? [],
    ...subnets,
    groups: front.groups,
    listeners: listenersOf(settings, balancer),
    sslPolicy: settings.sslPolicy,
    proxyProtocol: settings.proxyProtocol,
    health: settings.health,
    tags: settings.tags,
    members,
    joining: members.filter(({ isActive }) => isActive),
  };
  const isFrontOurs = standing.front === undefined || ownedBy(standing.front.tags, desired.owner);
  const { classicHealth } = settings;
  const want: Want<BalancerSpec> = {
    kind: classicKinds.balancer,
    key: 'main',
    slot: slotOf(desired.name),
    carriesAddress: true,
    spec,
    needs: [
      // One that was taken over goes on where its group cannot be tagged.
      ...front.wants.filter(({ kind }) => kind !== classicKinds.front || isFrontOurs).map(nameOf),
      // Members come and go also where a group of the nodes is full.
      ...(isAdmitted(balancer, front.groups, settings) ? [] : rules.wants.map(nameOf)),
    ],
    ...(classicHealth !== undefined && { alsoAccepted: [{ ...spec, health: classicHealth }] }),
    summary: summaryOf(spec),
  };
  const hasAttributes = foundOf(input, classicKinds.attributes).some(({ id }) => id === balancer?.hostname);
  const attributes: Want<AttributesBody> = {
    kind: classicKinds.attributes,
    key: 'main',
    within: balancerName,
    spec: { name: desired.name, attributes: settings.attributes },
    summary: `attributes of ${desired.name}`,
  };
  const isRead = balancer === undefined || hasAttributes;
  return { wants: [...front.wants, ...rules.wants, want, ...(isRead ? [attributes] : [])], refusals, remarks };
}

function listenersOf(
  { listeners, isProtocolIgnored }: ClassicSettings,
  balancer: ClassicLoadBalancer | undefined,
): ClassicSettings['listeners'] {
  if (!isProtocolIgnored) return listeners;
  return listeners?.map((one) => {
    const old = balancer?.listeners.find(({ port, certificate }) => port === one.port && certificate === undefined);
    return old ? { ...one, protocol: old.protocol, instanceProtocol: old.instanceProtocol } : one;
  });
}

/** Whether the rules that let it in to its members so far suffice: it keeps its groups, and asks no other port. */
function isAdmitted(
  balancer: ClassicLoadBalancer | undefined,
  groups: readonly string[],
  { listeners = [], health }: ClassicSettings,
): boolean {
  if (balancer === undefined || !sameSet(groups, balancer.securityGroups)) return false;
  const asked = new Set(balancer.listeners.map(({ instancePort }) => instancePort));
  const isProbed = health === undefined || probedPort(health) === probedPort(balancer.health);
  return isProbed && listeners.every(({ instancePort }) => asked.has(instancePort));
}

/** Groups that the Service may not name count as not understood: what stands stays. */
function permitted(
  settings: ClassicSettings,
  { owner, service }: DesiredLoadBalancer,
  { allowedGroups }: DesireParts,
  { balancer, groups }: Standing,
): ClassicSettings {
  const carried = balancer?.securityGroups ?? [];
  const judge = (key: string, ids: readonly string[] | undefined) =>
    judgeGroups(key, ids ?? [], { owner, service }, { allowed: allowedGroups, groups }, carried);
  const instead = judge(keys.securityGroups, settings.securityGroups);
  const extra = judge(keys.extraSecurityGroups, settings.extraSecurityGroups);
  return {
    ...settings,
    securityGroups: instead.refusals.length > 0 ? undefined : settings.securityGroups,
    extraSecurityGroups: extra.refusals.length > 0 ? undefined : settings.extraSecurityGroups,
    refusals: [...settings.refusals, ...instead.refusals, ...extra.refusals],
    remarks: [...settings.remarks, ...instead.remarks, ...extra.remarks],
  };
}

interface SortedMember extends Member {
  /** Of one that is known by its id alone, what is there stays. */
  readonly isActive: boolean;
}

/** Members as instances of this scope; what is none is named. */
function sortMembers(
  { members }: DesiredLoadBalancer,
  { idOf }: DesireParts,
): { readonly members: readonly SortedMember[]; readonly nonMembers: readonly Refusal[] } {
  const sorted: SortedMember[] = [];
  const nonMembers: Refusal[] = [];
  for (const { node, providerID, addresses } of members) {
    const id = idOf(providerID);
    if (id !== undefined) sorted.push({ id, providerID, isActive: addresses.length > 0 });
    else {
      const message = `member ${node}: providerID ${JSON.stringify(providerID)} is of another place`;
      nonMembers.push({ reason: 'Unsupported', message });
    }
  }
  return { members: sorted, nonMembers };
}

function attachRefusals({ attach }: DesiredLoadBalancer): Refusal[] {
  if (attach === undefined) return [];
  const other = 'a classic load balancer that others made cannot be used';
  const instead = 'a network one can, with aws-load-balancer-type nlb';
  return [{ reason: 'Unsupported', message: `load balancer ${JSON.stringify(attach.id)}: ${other}; ${instead}` }];
}

/** Another scheme is another address: only with consent, and only where all else is understood. */
function schemeOf(
  { internal, refusals: unread, listeners }: ClassicSettings,
  { mayChangeAddress }: DesiredLoadBalancer,
  balancer: ClassicLoadBalancer | undefined,
  refusals: Refusal[],
): boolean | undefined {
  if (balancer === undefined || internal === undefined || (balancer.scheme === 'internal') === internal)
    return internal;
  if (mayChangeAddress && unread.length === 0 && listeners?.length) return internal;
  const scheme = internal ? 'internal' : 'internet-facing';
  const message = `load balancer ${balancer.name}: from ${balancer.scheme} to ${scheme}`;
  refusals.push({ reason: 'AddressWouldChange', message });
  return undefined;
}

/** Of one that stands; a new one gets them when it is made. Where they cannot be used, it goes on where it stands. */
function subnetsOf(
  { subnets: named }: ClassicSettings,
  balancer: ClassicLoadBalancer | undefined,
  { config, view, lastSubnets }: DesireParts,
  refusals: Refusal[],
): Pick<BalancerSpec, 'subnets' | 'exchanged'> {
  const all = lastSubnets();
  const unchanged = { subnets: undefined, exchanged: {} };
  if (balancer === undefined || named === undefined || all === undefined) return unchanged;
  const refuse = (problem: string) => {
    refusals.push({ reason: 'Unsupported', message: `subnets: ${problem}` });
    return unchanged;
  };
  const choice = chooseSubnets(all, {
    internal: balancer.scheme === 'internal',
    named,
    ipv6: false,
    fallback: config.subnetId,
    isCluster: view.isCluster,
  });
  if ('problem' in choice) return refuse(choice.problem);
  const standing = all.filter(({ id }) => balancer.subnets.includes(id));
  const exchanges = choice.subnets.flatMap((next) => {
    const old = standing.find(({ id, zone }) => zone === next.zone && id !== next.id);
    return old === undefined ? [] : [{ next, old }];
  });
  const [first] = exchanges;
  if (first !== undefined && choice.subnets.length === 1 && balancer.subnets.length === 1)
    return refuse(
      `${first.next.id} is in ${first.old.zone} as ${first.old.id} is, the only subnet of the load balancer, and AWS ` +
        'neither attaches a second one of a zone nor detaches the last: add one of another zone first',
    );
  return {
    subnets: choice.subnets.map(({ id }) => id),
    exchanged: Object.fromEntries(exchanges.map(({ next, old }) => [next.id, old.id])),
  };
}

function summaryOf({ name, service, internal, listeners = [] }: BalancerSpec): string {
  const ports = listeners.map(({ protocol, port }) => `${protocol} ${port}`).join(', ');
  return `${internal ? 'internal' : 'internet-facing'} classic load balancer ${name} for ${service}: ${ports}`;
}
