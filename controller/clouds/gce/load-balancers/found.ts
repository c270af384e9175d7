import { everyService, type Found, type Owner, type Reference } from '../../../engine/resource.ts';
import {
  isShared,
  labels,
  loadBalancerIn,
  loadBalancerName,
  ownNames,
  parseDescription,
  sharedNames,
} from './names.ts';
import {
  type Address,
  type BackendService,
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
  const isCommon = !isOne && kind !== kindNames.address && isShared(name, clusterId(cluster));
  const balancer = loadBalancerIn(name);
  const rule = balancer === undefined ? undefined : project.at(rulePath(project, balancer));
  const isRetained = rule !== undefined && rulesLabels(rule)[labels.retained] !== undefined;
  const other = descriptionOf(shown)['mooring.dev/cluster'];
  const shared = isCommon && (other === undefined || other === cluster) ? everyone(cluster) : undefined;
  const owner = shared ?? (isRetained ? undefined : (markOf(shown) ?? (rule && markOf(rule))));
  return {
    ...{ kind, id, key: isOne ? 'main' : path, slots: [path], status: 'ready' },
    refs: isLast(name) ? lastRefs(project, clusterId(cluster)) : refsOf(shown, project),
    ...(owner !== undefined && { owner }),
    ...(isRetained && { retained: true }),
    // Reserved by a person: used where a Service names it.
    ...(kind === kindNames.address && owner === undefined && { lent: true }),
    body: shown,
  };
}

const everyone = (cluster: string): Owner => ({ cluster, service: everyService });

/** Whose it says that it is; its name has to be the one of that Service. */
function markOf(shown: Shown): Owner | undefined {
  const description = descriptionOf(shown);
  const own = rulesLabels(shown);
  const cluster = own[labels.cluster] ?? description['mooring.dev/cluster'];
  const service = own[labels.service] ?? description['mooring.dev/service-uid'];
  if (cluster === undefined || service === undefined) return undefined;
  return loadBalancerName(service) === loadBalancerIn(shown.name) ? { cluster, service } : undefined;
}

export function descriptionOf({ wire }: Shown) {
  return parseDescription((wire as { readonly description?: string }).description ?? '');
}

function rulesLabels({ wire }: Shown): Readonly<Record<string, string>> {
  return (wire as ForwardingRule).labels ?? {};
}

export function rulePath({ region }: Pick<Project, 'region'>, name: string): string {
  return `regions/${region}/forwardingRules/${name}`;
}
export function servicePath({ region }: Pick<Project, 'region'>, name: string): string {
  return `regions/${region}/backendServices/${name}`;
}
export function poolPath({ region }: Pick<Project, 'region'>, name: string): string {
  return `regions/${region}/targetPools/${name}`;
}

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
const isLast = (name: string) => name.startsWith(ownNames.firewall(''));

function lastRefs(project: Project, clusterId: string): Reference[] {
  const check = sharedNames.check(clusterId);
  const firewalls = [sharedNames.checkFirewall(clusterId), sharedNames.legacyCheckFirewall(clusterId)];
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

export function ipOf({ wire }: Shown): string | undefined {
  const { IPAddress } = wire as ForwardingRule;
  return IPAddress ?? (wire as Address).address ?? undefined;
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
    const rule = project.at(rulePath(project, backend.name));
    const marked = (markOf(backend) ?? (rule && markOf(rule)))?.service;
    users.push(marked ?? adopters.get(backend.name) ?? backend.name);
  }
  // An Ingress makes instance groups of the same name, and uses them a little later.
  const isOfOthers = loadBalancerIn(shown.name) === undefined && !descriptionOf(shown)['mooring.dev/cluster'];
  return users.length === 0 && isOfOthers ? ['its maker'] : users;
}
