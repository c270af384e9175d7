import { gce } from '../../../../common/provider-id/gce.ts';
import type { Want } from '../../../engine/resource.ts';
import type { DesiredLoadBalancer, DesiredPort, IpFamily } from '../../load-balancers.ts';
import type { BackendSpec } from './backend.ts';
import { type FirewallSpec, firewallPath } from './firewall.ts';
import type { RuleSpec } from './forwarding-rule.ts';
import { type FoundParts, groupsOf, kindNames, poolPath, servicePath } from './found.ts';
import { describe, describeShared, nameFor, ownNames, sharedNames } from './names.ts';
import type { Settings } from './settings.ts';
import type { Standing } from './standing.ts';

export interface DesireOptions extends FoundParts {
  /** Id of the project. */
  projectId(): string;
  /** Of the nodes; firewall rules are for these. Empty: for all machines. */
  readonly nodeTags: readonly string[];
  /** Name, where the configuration says it. */
  readonly subnet: string | undefined;
}

/**
 * Where health checks of Google's network load balancers come from: of IPv4 as the classic controller lists it, of IPv6
 * those of external and of internal ones.
 */
export const checkSources: Readonly<Record<IpFamily, readonly string[]>> = {
  IPv4: ['130.211.0.0/22', '35.191.0.0/16', '209.85.152.0/22', '209.85.204.0/22'],
  IPv6: ['2600:1901:8001::/48', '2600:2d00:1:b029::/64'],
};
const everybody: Readonly<Record<IpFamily, string>> = { IPv4: '0.0.0.0/0', IPv6: '::/0' };
const nobody: Readonly<Record<IpFamily, string>> = { IPv4: '127.0.0.1/32', IPv6: '::1/128' };
export const isOfFamily = (range: string, family: IpFamily) => range.includes(':') === (family === 'IPv6');

/** Of kube-proxy, which answers the same for all Services. */
const sharedCheck = { port: 10_256, path: '/healthz' };

/** A forwarding rule has so many single ports. */
const maxPorts = 5;
/** An internal load balancer serves by so many VMs without subsetting. */
export const maxWithoutSubsets = 250;

export function backendOf(
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
  const instances = memberPaths(desired, options);
  const both = {
    name,
    description: describe(owner, service),
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
    ...both,
    path: servicePath(project, name),
    check: `${isInternal ? 'global' : `regions/${project.region}`}/healthChecks/${checkName}`,
    service: {
      scheme: isInternal ? 'INTERNAL' : 'EXTERNAL',
      protocol: protocol === 'L3_DEFAULT' ? 'UNSPECIFIED' : protocol,
      isWide: isInternal && instances.length > maxWithoutSubsets,
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

export function ruleOf(
  family: IpFamily,
  { owner, service, name }: DesiredLoadBalancer,
  { isInternal, hasService, globalAccess, subnet, tier }: Settings,
  served: readonly DesiredPort[],
  backend: BackendSpec,
  options: DesireOptions,
): Omit<RuleSpec, 'ip'> {
  const protocol = protocolOf(served);
  const ports = [...new Set(served.map(({ port }) => port))].sort((a, b) => a - b);
  const range = { range: `${ports[0]}-${ports.at(-1)}` };
  const list = ports.length <= maxPorts ? ports.map(String) : undefined;
  const listed = list ?? (isInternal ? 'all' : range);
  return {
    family,
    name: nameFor(family, name),
    description: describe(owner, service),
    protocol,
    globalAccess,
    target: backend.path,
    tier: family === 'IPv6' && !isInternal ? 'PREMIUM' : tier,
    scheme: isInternal ? 'INTERNAL' : 'EXTERNAL',
    // Two protocols go through one rule only with all ports; firewall rules let in those of the Service.
    ports: protocol === 'L3_DEFAULT' ? 'all' : hasService ? listed : range,
    alsoGood: protocol === 'L3_DEFAULT' || isInternal ? [] : [range, ...(list === undefined ? [] : [list])],
    subnet: isInternal || family === 'IPv6' ? (subnet ?? options.subnet) : undefined,
  };
}

export function memberPaths(
  { members }: Pick<DesiredLoadBalancer, 'members'>,
  { project, projectId }: DesireOptions,
): string[] {
  const paths = members.flatMap(({ providerID }) => {
    const [of, zone, name] = gce.parse(providerID)?.instanceId.split('/') ?? [];
    return of === projectId() && zone?.startsWith(`${project.region}-`) ? [`zones/${zone}/instances/${name}`] : [];
  });
  return [...new Set(paths)].sort();
}

export const zonePathOf = (path: string) => `${path.split('/').slice(0, 2).join('/')}/`;

export function firewallsOf(parts: {
  readonly family: IpFamily;
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
  const { family, desired, served, ip, backend, isShared, nodeTags: targetTags, id, isOurs } = parts;
  const { owner, service, name, healthCheck } = desired;
  const isLegacy = backend.service === undefined;
  const [own, common] = isLegacy
    ? [ownNames.legacyCheckFirewall(name), sharedNames.legacyCheckFirewall(id)]
    : [ownNames.checkFirewall(name), sharedNames.checkFirewall(id)].map((one) => nameFor(family, one));
  const want = (spec: FirewallSpec): Want<FirewallSpec> => {
    const path = firewallPath(spec.name);
    return { kind: kindNames.firewall, key: path, slot: path, spec, summary: `firewall rule ${spec.name}` };
  };
  const checks: FirewallSpec = {
    name: (isShared ? common : own)!,
    sources: checkSources[family],
    destination: undefined,
    targetTags,
    description: isShared ? describeShared(owner.cluster, id) : describe(owner, service),
    allowed: [{ protocol: 'tcp', ports: [healthCheck.port] }],
    serves: isOurs && ip !== undefined ? [ip] : [],
  };
  const sources = desired.sourceRanges.filter((range) => isOfFamily(range, family));
  const traffic = (destination: string): FirewallSpec => ({
    name: ownNames.firewall(nameFor(family, name)),
    description: describe(owner, service, destination),
    destination,
    targetTags,
    allowed: ['TCP', 'UDP'].flatMap((protocol) => {
      const ports = served.filter((port) => port.protocol === protocol).map(({ port }) => port);
      return ports.length === 0 ? [] : [{ protocol: protocol.toLowerCase(), ports }];
    }),
    // Ranges of the other family alone let nobody in.
    sources: sources.length > 0 ? sources : [(desired.sourceRanges.length > 0 ? nobody : everybody)[family]],
    serves: [],
  });
  return [want(checks), ...(ip === undefined ? [] : [want(traffic(ip))])];
}
