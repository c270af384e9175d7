import { gce } from '../../../../common/provider-id/gce.ts';
import { type Desire, type Found, nameOf, type Refusal, type Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import type { AddressSpec } from './address.ts';
import { type BackendSpec, backendDifference } from './backend.ts';
import { type FirewallSpec, firewallPath } from './firewall.ts';
import { type RuleSpec, ruleDifference, subnetOf } from './forwarding-rule.ts';
import { type FoundParts, groupsOf, ipOf, isPool, kindNames, poolPath, rulePath, servicePath } from './found.ts';
import type { CheckSpec } from './health-check.ts';
import type { GroupSpec } from './instance-group.ts';
import { describe, describeShared, ownNames, sharedNames } from './names.ts';
import type { BackendService, ForwardingRule, Shown, TargetPool } from './project.ts';
import { type Settings, settingsOf } from './settings.ts';

export interface DesireOptions extends FoundParts {
  /** Id of the project. */
  projectId(): string;
  /** Of the nodes; firewall rules are for these. Empty: for all machines. */
  readonly nodeTags: readonly string[];
  /** Name, where the configuration says it. */
  readonly subnet: string | undefined;
}

/** Where traffic and health checks of Google's network load balancers come from, as the classic controller lists it. */
export const checkSources = ['130.211.0.0/22', '35.191.0.0/16', '209.85.152.0/22', '209.85.204.0/22'];
/** Of kube-proxy, which answers the same for all Services. */
const sharedCheck = { port: 10_256, path: '/healthz' };
/** A forwarding rule has so many single ports. */
const maxPorts = 5;

/** The resources of one Service. */
interface Standing {
  readonly rule: Found<Shown<ForwardingRule>> | undefined;
  readonly backend: Found<Shown<BackendService & TargetPool>> | undefined;
  /** Holds the address while the rule is replaced. */
  readonly held: Found<Shown> | undefined;
  readonly all: readonly Found[];
}

/** What serves a Service. Pure: what it reads of the project is what was found. */
export function desireOf(input: DesireInput, options: DesireOptions): Desire {
  return desireWith(input, settingsOf(input.desired.annotations), options);
}

function desireWith(input: DesireInput, settings: Settings, options: DesireOptions): Desire {
  const { desired, found, own } = input;
  const { owner, service, name } = desired;
  const { project, nodeTags, clusterId } = options;
  const standing = standingOf(own());
  const { served, refusals } = portsOf(desired, settings);
  const unread = [...settings.problems, ...fieldsOf(desired, settings)];
  refusals.push(...unread.map(unsupported), ...familiesOf(desired));
  const remarks = remarksOf(desired, options);
  const stays = { wants: standing.all.map(stand), refusals, remarks };
  // What cannot be read changes nothing, and nothing goes.
  if (unread.length > 0 || served.length === 0 || !desired.families.includes('IPv4')) return stays;

  const id = clusterId(owner.cluster);
  const named = settings.address === undefined ? undefined : reserved(settings.address, found(kindNames.address));
  const backend = backendOf(desired, settings, served, standing, options);
  const rule = ruleOf(desired, settings, served, backend, options);
  const askedIp = named?.ip ?? desired.address;
  const kept = keptIp(standing, rule, askedIp);
  const whole: RuleSpec = { ...rule, ip: askedIp ?? kept };
  const replaced =
    standing.rule &&
    (ruleDifference(standing.rule.body, whole) ??
      (standing.backend && backendDifference(standing.backend.body, backend)));
  const isReserved = found(kindNames.address).some(({ lent, body }) => lent && ipOf(body as Shown) === kept);
  if (replaced !== undefined && kept === undefined && !desired.mayChangeAddress) {
    const message = `${kindNames.rule} ${name}: ${replaced}`;
    // All that needs no other address is done.
    const here = { ...input, desired: { ...desired, address: undefined } };
    const same = desireWith(here, asItStands(settings, standing), { ...options, subnet: undefined });
    return { ...same, refusals: [...same.refusals, { reason: 'AddressWouldChange', message }] };
  }
  const hold = replaced !== undefined && kept !== undefined && !isReserved;
  const address = holdOf(desired, rule, kept, standing);
  // The address first: what serves stays as it is until nothing can take it away.
  if (hold && standing.held === undefined) return { ...stays, wants: [...stays.wants, address!] };

  const isShared = desired.healthCheck.port === sharedCheck.port && desired.healthCheck.path === sharedCheck.path;
  const { port, path: requestPath } = desired.healthCheck;
  const description = describe(owner, service);
  const common = describeShared(owner.cluster, id);
  const checkName = isShared ? sharedNames.check(id) : name;
  const check: Want<CheckSpec> = {
    ...{ kind: kindNames.check, key: backend.check, slot: backend.check, summary: `health check ${checkName}` },
    spec: { path: backend.check, name: checkName, description: isShared ? common : description, port, requestPath },
  };
  const groups = (backend.service?.groups ?? []).map((path): Want<GroupSpec> => {
    const instances = instancesOf(desired, options).filter((one) => one.startsWith(zonePathOf(path)));
    const spec = { path, name: sharedNames.group(id), description: common, instances };
    return { kind: kindNames.group, key: path, slot: path, spec, summary: `instance group ${path}` };
  });
  const main: Want<BackendSpec> = {
    ...{ kind: kindNames.backend, key: 'main', slot: backend.path, spec: backend },
    ...{ needs: [check, ...groups].map(nameOf), summary: `backend ${name}` },
  };
  // It goes when the rule that has its address is there.
  const holding = hold || standing.rule === undefined ? standing.held : undefined;
  const addresses: Want[] = [...(named?.wants ?? []), ...(holding === undefined ? [] : [stand(holding)])];
  const front: Want<RuleSpec> = {
    ...{
      kind: kindNames.rule,
      key: 'main',
      slot: rulePath(project, name),
      spec: whole,
      summary: `forwarding rule ${name}`,
    },
    needs: [nameOf(main), ...addresses.map(nameOf)],
  };
  // The rule that stands lets in until another one is there.
  const ip = standing.rule === undefined ? whole.ip : ipOf(standing.rule.body);
  const firewalls = project.isShared
    ? []
    : firewallsOf({ desired, served, ip, backend, isShared, nodeTags, id, isOurs: standing.rule?.owner !== undefined });
  const waiting = standing.all.filter((one) => ip === undefined && one.key === firewallPath(ownNames.firewall(name)));
  return {
    wants: [check, ...groups, main, ...addresses, front, ...firewalls, ...waiting.map(stand)] as readonly Want[],
    ...{ refusals, remarks },
  };
}

function standingOf(all: readonly Found[]): Standing {
  const of = (kind: string) => all.find((one) => one.kind === kind && one.status !== 'deleting') as never;
  return { rule: of(kindNames.rule), backend: of(kindNames.backend), held: of(kindNames.address), all };
}

/** What decides about the address, as the forwarding rule that stands has it. */
function asItStands(settings: Settings, { rule, backend }: Standing): Settings {
  const isInternal = rule?.body.wire.loadBalancingScheme === 'INTERNAL';
  const hasService = backend === undefined ? isInternal : !isPool(backend.body);
  const globalAccess = isInternal && settings.globalAccess;
  return { ...settings, isInternal, hasService, globalAccess, tier: undefined, subnet: undefined, address: undefined };
}

/** As it is. */
function stand({ kind, key, id }: Found): Want {
  return { kind, key: key!, spec: undefined, asItStands: true, summary: `${kind} ${id}` };
}

const unsupported = (message: string): Refusal => ({ reason: 'Unsupported', message });

/** What keeps all of it as it is. */
function fieldsOf({ attach, address }: DesiredLoadBalancer, settings: Settings): string[] {
  const name = 'networking.gke.io/load-balancer-ip-addresses';
  return [
    ...(attach === undefined ? [] : [`mooring.dev/load-balancer-id: ${JSON.stringify(attach.id)}, expected none`]),
    ...(address !== undefined && settings.address !== undefined
      ? [`${name}: ${JSON.stringify(settings.address)}, expected it or spec.loadBalancerIP, not both`]
      : []),
  ];
}

function familiesOf({ families, sourceRanges }: DesiredLoadBalancer): Refusal[] {
  if (families.includes('IPv6')) return [unsupported('spec.ipFamilies: IPv6, expected IPv4 alone')];
  const others = sourceRanges.filter((range) => range.includes(':'));
  return others.length === 0
    ? []
    : [unsupported(`spec.loadBalancerSourceRanges: ${others.join()}, expected IPv4 ranges`)];
}

/** A target pool takes one protocol, that of the first port. */
function portsOf({ ports }: DesiredLoadBalancer, { hasService }: Settings) {
  const first = ports.find(({ protocol }) => protocol !== 'SCTP')?.protocol;
  const isServed = ({ protocol }: DesiredPort) => protocol !== 'SCTP' && (hasService || protocol === first);
  const refusals = ports
    .filter((port) => !isServed(port))
    .map(({ port, protocol }): Refusal => {
      const expected = protocol === 'SCTP' ? 'TCP or UDP' : `${first}, or the annotation cloud.google.com/l4-rbs`;
      return { ...unsupported(`spec.ports: ${protocol} ${port}, expected ${expected}`), ports: [{ port, protocol }] };
    });
  return { served: ports.filter(isServed), refusals };
}

/** Of a Shared VPC: firewall rules are in a project of others. */
function remarksOf({ ports }: DesiredLoadBalancer, { project }: DesireOptions): readonly string[] {
  if (!project.isShared) return [];
  const opened = ports.map(({ port, protocol }) => `${protocol.toLowerCase()}:${port}`).join();
  return [
    `firewall rules of the network's project are not changed: let in ${opened} to the nodes there, and health checks ` +
      `from ${checkSources.join(', ')}`,
  ];
}

function backendOf(
  { owner, service, name, healthCheck, sessionAffinity, ...desired }: DesiredLoadBalancer,
  { isInternal, hasService }: Settings,
  served: readonly DesiredPort[],
  { backend }: Standing,
  options: DesireOptions,
): BackendSpec {
  const { project, clusterId } = options;
  const id = clusterId(owner.cluster);
  const isShared = healthCheck.port === sharedCheck.port && healthCheck.path === sharedCheck.path;
  const checkName = isShared ? sharedNames.check(id) : name;
  const instances = instancesOf(desired, options);
  const both = {
    ...{ name, description: describe(owner, service) },
    affinity: sessionAffinity === undefined ? ('NONE' as const) : ('CLIENT_IP' as const),
  };
  if (!hasService)
    return { ...both, path: poolPath(project, name), check: `global/httpHealthChecks/${checkName}`, instances };
  const zones = new Set(instances.map((path) => path.split('/')[1]!));
  // A group stays where its last node goes: the next one comes soon.
  const standing = backend === undefined ? [] : groupsOf(backend.body.wire);
  const groups = [...zones].map((zone) => `zones/${zone}/instanceGroups/${sharedNames.group(id)}`);
  const protocol = protocolOf(served);
  return {
    ...{ ...both, path: servicePath(project, name) },
    check: `${isInternal ? 'global' : `regions/${project.region}`}/healthChecks/${checkName}`,
    service: {
      scheme: isInternal ? 'INTERNAL' : 'EXTERNAL',
      protocol: protocol === 'L3_DEFAULT' ? 'UNSPECIFIED' : protocol,
      groups: [
        ...new Set([...groups, ...standing.filter((path) => path.endsWith(`/${sharedNames.group(id)}`))]),
      ].sort(),
    },
  };
}

function protocolOf(served: readonly DesiredPort[]): RuleSpec['protocol'] {
  const protocols = new Set(served.map(({ protocol }) => protocol));
  return protocols.size > 1 ? 'L3_DEFAULT' : ([...protocols][0] as 'TCP' | 'UDP');
}

function ruleOf(
  { owner, service, name }: DesiredLoadBalancer,
  { isInternal, hasService, globalAccess, subnet, tier }: Settings,
  served: readonly DesiredPort[],
  backend: BackendSpec,
  options: DesireOptions,
): Omit<RuleSpec, 'ip'> {
  const protocol = protocolOf(served);
  const ports = [...new Set(served.map(({ port }) => port))].sort((a, b) => a - b);
  const range = { range: `${ports[0]}-${ports.at(-1)}` };
  const listed = ports.length <= maxPorts ? ports.map(String) : isInternal ? 'all' : range;
  return {
    ...{ name, description: describe(owner, service), protocol, tier, globalAccess, target: backend.path },
    scheme: isInternal ? 'INTERNAL' : 'EXTERNAL',
    // Two protocols go through one rule only with all ports; firewall rules let in those of the Service.
    ports: protocol === 'L3_DEFAULT' ? 'all' : hasService ? listed : range,
    subnet: isInternal ? (subnet ?? options.subnet) : undefined,
  };
}

/** The address that the Service has, unless it asks for one elsewhere. */
function keptIp({ rule, held }: Standing, spec: Omit<RuleSpec, 'ip'>, asked: string | undefined): string | undefined {
  if (rule === undefined) return held && ipOf(held.body);
  const ip = ipOf(rule.body);
  if (asked !== undefined && asked !== ip) return undefined;
  const { loadBalancingScheme: scheme, networkTier: tier } = rule.body.wire;
  const subnet = subnetOf(rule.body);
  const isThere = scheme === spec.scheme && (spec.tier ?? tier) === tier && (spec.subnet ?? subnet) === subnet;
  return isThere ? ip : undefined;
}

function holdOf(
  { owner, service, name }: DesiredLoadBalancer,
  { scheme }: Omit<RuleSpec, 'ip'>,
  ip: string | undefined,
  { rule }: Standing,
): Want<AddressSpec> | undefined {
  if (ip === undefined || rule === undefined) return undefined;
  const path = rule.body.path.replace('/forwardingRules/', '/addresses/');
  const { networkTier, subnetwork } = rule.body.wire;
  const place = { tier: networkTier ?? null, subnet: subnetwork ?? null };
  const spec: AddressSpec = { name, description: describe(owner, service), ip, scheme, ...place };
  return { kind: kindNames.address, key: path, slot: path, spec, summary: `address ${ip}` };
}

/** The reserved address of that name. Where it is not known, a read follows. */
function reserved(
  name: string,
  known: readonly Found[],
): { readonly ip: string | undefined; readonly wants: readonly Want[] } {
  const found = (known as readonly Found<Shown>[]).find(({ body, lent }) => lent && body.name === name);
  const use = { id: found?.id ?? name, allowed: true };
  const want = { kind: kindNames.address, key: `reserved ${name}`, use, spec: undefined, summary: `address ${name}` };
  return { ip: found && ipOf(found.body), wants: [want] };
}

function instancesOf(
  { members }: Pick<DesiredLoadBalancer, 'members'>,
  { project, projectId }: DesireOptions,
): string[] {
  const paths = members.flatMap(({ providerID }) => {
    const [of, zone, name] = gce.parse(providerID)?.instanceId.split('/') ?? [];
    return of === projectId() && zone?.startsWith(`${project.region}-`) ? [`zones/${zone}/instances/${name}`] : [];
  });
  return [...new Set(paths)].sort();
}

const zonePathOf = (path: string) => `${path.split('/').slice(0, 2).join('/')}/`;

function firewallsOf(parts: {
  readonly desired: DesiredLoadBalancer;
  readonly served: readonly DesiredPort[];
  /** Undefined: not known before the rule is there. */
  readonly ip: string | undefined;
  readonly backend: BackendSpec;
  readonly isShared: boolean;
  readonly nodeTags: readonly string[];
  readonly id: string;
  /** Not taken over just now: nothing is changed for that. */
  readonly isOurs: boolean;
}): readonly Want<FirewallSpec>[] {
  const { desired, served, ip, backend, isShared, nodeTags: targetTags, id, isOurs } = parts;
  const { owner, service, name, healthCheck } = desired;
  const isLegacy = backend.service === undefined;
  const [own, common] = isLegacy
    ? [ownNames.legacyCheckFirewall(name), sharedNames.legacyCheckFirewall(id)]
    : [ownNames.checkFirewall(name), sharedNames.checkFirewall(id)];
  const want = (spec: FirewallSpec): Want<FirewallSpec> => {
    const path = firewallPath(spec.name);
    return { kind: kindNames.firewall, key: path, slot: path, spec, summary: `firewall rule ${spec.name}` };
  };
  const checks: FirewallSpec = {
    ...{ name: isShared ? common : own, sources: checkSources, destination: undefined, targetTags },
    description: isShared ? describeShared(owner.cluster, id) : describe(owner, service),
    ...{ allowed: [{ protocol: 'tcp', ports: [healthCheck.port] }], serves: isOurs && ip !== undefined ? [ip] : [] },
  };
  const sources = desired.sourceRanges.filter((range) => !range.includes(':'));
  const traffic = (destination: string): FirewallSpec => ({
    ...{ name: ownNames.firewall(name), description: describe(owner, service, destination), destination, targetTags },
    allowed: ['TCP', 'UDP'].flatMap((protocol) => {
      const ports = served.filter((port) => port.protocol === protocol).map(({ port }) => port);
      return ports.length === 0 ? [] : [{ protocol: protocol.toLowerCase(), ports }];
    }),
    // Ranges of the other family alone let nobody in.
    sources: sources.length > 0 ? sources : desired.sourceRanges.length > 0 ? ['127.0.0.1/32'] : ['0.0.0.0/0'],
    serves: [],
  });
  return [want(checks), ...(ip === undefined ? [] : [want(traffic(ip))])];
}
