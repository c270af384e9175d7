import ipaddr from 'ipaddr.js';
import { everyService, type Found, type Owner, type Reference } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { IpFamily } from '../../load-balancers.ts';
import {
  familyOf,
  isDenial,
  isShared,
  labels,
  loadBalancerIn,
  loadBalancerName,
  nameFor,
  ownNames,
  parseDescription,
  sharedNames,
} from './names.ts';
import {
  type Address,
  type BackendService,
  type Firewall,
  type ForwardingRule,
  type Project,
  pathOf,
  type Shown,
  type TargetPool,
} from './project.ts';

/** Kinds of resources. */
export const kindNames = {
  /** Has the address. */
  rule: 'forwarding rule',
  /** A backend service or a target pool: what stays while the rule in front of it is replaced. */
  backend: 'backend',
  check: 'health check',
  firewall: 'firewall rule',
  /** Of one zone, for all Services. */
  group: 'instance group',
  address: 'address',
  /** Of others. */
  subnet: 'subnet',
} as const;

const kindOfCollection: Readonly<Record<string, string>> = {
  forwardingRules: kindNames.rule,
  backendServices: kindNames.backend,
  targetPools: kindNames.backend,
  healthChecks: kindNames.check,
  httpHealthChecks: kindNames.check,
  firewalls: kindNames.firewall,
  instanceGroups: kindNames.group,
  addresses: kindNames.address,
  subnetworks: kindNames.subnet,
};

export interface FoundParts {
  readonly project: Project;
  /** UIDs of Services by the name of the load balancer that they take over: it has no marks yet. */
  readonly adopters: Map<string, string>;
  clusterId(cluster: string): string;
}

/** What a resource of the project is to the engine. */
export function foundOf(shown: Shown, cluster: string, { project, clusterId }: FoundParts): Found<Shown> {
  const { path, name, id } = shown;
  const kind = kindOfCollection[path.split('/').at(-2)!]!;
  const isOne = kind === kindNames.rule || kind === kindNames.backend;
  const isLent = kind === kindNames.address || kind === kindNames.subnet;
  const isCommon = !isOne && !isLent && isShared(name, clusterId(cluster));
  const balancer = loadBalancerIn(name);
  const rule = balancer === undefined ? undefined : anyRuleOf(project, balancer);
  const isRetained = rule !== undefined && labelsOf(rule)[labels.retained] !== undefined;
  const other = descriptionOf(shown)['mooring.dev/cluster'];
  const shared = isCommon && (other === undefined || other === cluster) ? everyone(cluster) : undefined;
  const owner = shared ?? (isRetained ? undefined : (markOf(shown) ?? (rule && markOf(rule))));
  return {
    kind,
    id,
    key: isOne ? keyFor(familyOf(name)) : path,
    slots: [path],
    status: 'ready',
    refs: isLast(name)
      ? lastRefs(project, clusterId(cluster))
      : isDenial(name)
        ? proofIn(rule)
        : refsOf(shown, project),
    ...(owner !== undefined && { owner }),
    ...(isRetained && { retained: true }),
    // Made by a person: used where a Service names it.
    ...(isLent && owner === undefined && { consentForAnyCluster: true }),
    body: shown,
  };
}

const everyone = (cluster: string): Owner => ({ cluster, service: everyService });

/** Whose it says that it is; its name has to be the one of that Service. */
function markOf(shown: Shown): Owner | undefined {
  const description = descriptionOf(shown);
  const own = labelsOf(shown);
  const cluster = own[labels.cluster] ?? description['mooring.dev/cluster'];
  const service = own[labels.service] ?? description['mooring.dev/service-uid'];
  if (cluster === undefined || service === undefined) return undefined;
  return loadBalancerName(service) === loadBalancerIn(shown.name) ? { cluster, service } : undefined;
}

export function descriptionOf({ wire }: Shown) {
  return parseDescription((wire as { readonly description?: string }).description ?? '');
}

function labelsOf({ wire }: Shown): Readonly<Record<string, string>> {
  return (wire as ForwardingRule).labels ?? {};
}

const inRegion = (collection: string) => (project: Pick<Project, 'region'>, name: string) =>
  `regions/${project.region}/${collection}/${name}`;
export const rulePath = inRegion('forwardingRules');
export const servicePath = inRegion('backendServices');
export const poolPath = inRegion('targetPools');
/** A forwarding rule of the load balancer. */
export function anyRuleOf(project: Project, name: string): Shown | undefined {
  return project.at(rulePath(project, name)) ?? project.at(rulePath(project, nameFor('IPv6', name)));
}
/** Of a forwarding rule. */
export const keyFor = (family: IpFamily) => (family === 'IPv6' ? 'ipv6' : 'main');

export const isPool = ({ path }: Shown) => path.includes('/targetPools/');

function refsOf({ path, wire }: Shown, project: Project): Reference[] {
  const refer = (role: string, kind: string, links: readonly (string | null | undefined)[]) =>
    links.flatMap((link): Reference[] => {
      const id = link ? project.at(pathOf(link))?.id : undefined;
      return id === undefined ? [] : [{ role, kind, id }];
    });
  if (path.includes('/forwardingRules/')) {
    const { backendService, target } = wire as ForwardingRule;
    return refer('backend', kindNames.backend, [backendService ?? target]);
  }
  if (path.includes('/backendServices/') || path.includes('/targetPools/')) {
    const { healthChecks } = wire as BackendService & TargetPool;
    const groups = groupsOf(wire as BackendService);
    return [...refer('health check', kindNames.check, healthChecks ?? []), ...refer('group', kindNames.group, groups)];
  }
  return [];
}

/** The rule for the traffic goes last: until then something of the Service tells that shared resources may go, too. */
const isLast = (name: string) => name.startsWith(ownNames.firewall('')) && !isDenial(name);

/** Nothing else tells whose it is. */
function proofIn(rule: Shown | undefined): Reference[] {
  return rule === undefined ? [] : [{ role: 'proof', kind: kindNames.rule, id: rule.id, loose: true, proof: true }];
}

function lastRefs(project: Project, clusterId: string): Reference[] {
  const check = sharedNames.check(clusterId);
  const { checkFirewall, checkFirewallIpv6, legacyCheckFirewall } = sharedNames;
  const firewalls = [checkFirewall, checkFirewallIpv6, legacyCheckFirewall].map((nameOf) => nameOf(clusterId));
  const paths: (readonly [string, string])[] = [
    ...['global', `regions/${project.region}`].map(
      (scope) => [kindNames.check, `${scope}/healthChecks/${check}`] as const,
    ),
    [kindNames.check, `global/httpHealthChecks/${check}`],
    ...firewalls.map((name) => [kindNames.firewall, `global/firewalls/${name}`] as const),
    ...[...project.groups()].map((path) => [kindNames.group, path] as const),
  ];
  return paths.flatMap(([kind, path]): Reference[] => {
    const id = project.at(path)?.id;
    return id === undefined ? [] : [{ role: 'after', kind, id, loose: true, outlives: true }];
  });
}

export function groupsOf({ backends }: BackendService): readonly string[] {
  return (backends ?? []).flatMap(({ group }) => (group ? pathOf(group) : []));
}

/** Paths of its health checks. */
export function checksOf({ wire }: Shown): readonly string[] {
  return ((wire as BackendService & TargetPool).healthChecks ?? []).map(pathOf);
}

/** Paths of the instances that get the traffic. */
export function instancesOf(shown: Shown, project: Project): readonly string[] {
  if (isPool(shown)) return ((shown.wire as TargetPool).instances ?? []).map(pathOf);
  return groupsOf(shown.wire as BackendService).flatMap((group) => project.at(group)?.instances ?? []);
}

/** Of IPv6 the first address of its range. */
export function ipOf({ wire }: Shown): string | undefined {
  const ip = (wire as ForwardingRule).IPAddress ?? (wire as Address).address;
  return ip ? canonical(ip.replace(/\/\d+$/, '')) : undefined;
}

/**
 * UIDs of the Services, or other names, that use it.
 *
 * @param paths of what a backend names when it does: the resource itself, or the health checks that a rule lets in
 */
export function usersOf(
  shown: Shown,
  paths: readonly string[],
  { project, adopters }: Pick<FoundParts, 'project' | 'adopters'>,
): readonly string[] {
  const users = paths.flatMap((path) => project.otherUserOf(path) ?? []);
  for (const backend of project.all()) {
    if (!backend.path.includes('/backendServices/') && !isPool(backend)) continue;
    const used = [...checksOf(backend), ...groupsOf(backend.wire as BackendService)];
    if (!used.some((path) => paths.includes(path))) continue;
    const rule = anyRuleOf(project, backend.name);
    const marked = (markOf(backend) ?? (rule && markOf(rule)))?.service;
    users.push(marked ?? adopters.get(backend.name) ?? backend.name);
  }
  const isOfOthers = loadBalancerIn(shown.name) === undefined && !descriptionOf(shown)['mooring.dev/cluster'];
  if (users.length > 0 || !isOfOthers) return users;
  const isGroup = shown.path.includes('/instanceGroups/');
  const going = [...project.all()].flatMap((one) => {
    const name = isLast(one.name) ? loadBalancerIn(one.name)! : undefined;
    if (name === undefined || project.at(servicePath(project, name)) || project.at(poolPath(project, name))) return [];
    // The classic controller has groups for internal load balancers alone.
    return isGroup && !isInternal(one) ? [] : (markOf(one)?.service ?? adopters.get(name) ?? name);
  });
  // An Ingress makes instance groups of the same name, and uses them a little later.
  return going.length > 0 ? going : ['its maker'];
}

/** Whether a rule for traffic is of an internal load balancer. */
function isInternal({ wire }: Shown): boolean {
  const [range = ''] = (wire as Firewall).destinationRanges ?? [];
  const ip = range.replace(/\/\d+$/, '');
  return ipaddr.isValid(ip) && ['private', 'uniqueLocal'].includes(ipaddr.parse(ip).range());
}
