import type { Found, Kind, Owner, Reader } from '../../../engine/resource.ts';
import type { AdoptionInput, LoadBalancerDriver, ShownLoadBalancer } from '../../load-balancer-driver.ts';
import type { ObservedMember } from '../../load-balancers.ts';
import { annotationPrefixes, annotations, classicFinalizers } from '../annotations.ts';
import { addressKind } from './address.ts';
import { backendKind } from './backend.ts';
import { desireOf } from './desire.ts';
import type { DesireOptions } from './desire-specs.ts';
import { firewallKind } from './firewall.ts';
import { ruleKind } from './forwarding-rule.ts';
import { descriptionOf, foundOf, instancesOf, ipOf, kindNames, poolPath, rulePath, servicePath } from './found.ts';
import { checkKind } from './health-check.ts';
import { groupKind } from './instance-group.ts';
import { anyName, clusterIdOf, isShared, loadBalancerIn, loadBalancerName, nameFor, sharedNames } from './names.ts';
import { createProject, type Project, type ProjectParts, type Shown } from './project.ts';

export interface LoadBalancerOptions extends ProjectParts, Pick<DesireOptions, 'nodeTags' | 'subnet'> {
  /** As the classic controller names its cluster. Undefined: by the UID of kube-system. */
  readonly clusterId: string | undefined;
}

/** The passthrough load balancers of one region. */
export function createLoadBalancerDriver(options: LoadBalancerOptions): LoadBalancerDriver {
  const project = createProject(options);
  const clusterId = (cluster: string) => clusterIdOf(cluster, options.clusterId);
  const parts: DesireOptions = { ...options, project, clusterId, projectId: options.project, adopters: new Map() };
  /** Of the cluster that is worked for, which is known with the first read. */
  let ownClusterId = '';

  /** Health checks that a firewall rule of that name lets in. */
  function checksOf(name: string): readonly string[] {
    const check = isShared(name, ownClusterId) ? sharedNames.check(ownClusterId) : (loadBalancerIn(name) ?? name);
    if (name.endsWith('-http-hc')) return [`global/httpHealthChecks/${check}`];
    return ['global', `regions/${project.region}`].map((scope) => `${scope}/healthChecks/${check}`);
  }
  async function read(cluster: string, ...request: Parameters<Project['read']>) {
    ownClusterId = clusterId(cluster);
    return (await project.read(...request)).map((shown) => foundOf(shown, cluster, parts));
  }
  /** Whether another Service has a backend: what all share stays. */
  function hasOthers({ cluster, service }: Owner): boolean {
    return [...project.all()].some((shown) => {
      const { kind, owner } = foundOf(shown, cluster, parts);
      return kind === kindNames.backend && owner?.cluster === cluster && owner.service !== service;
    });
  }
  const reader: Reader = {
    kinds: Object.values(kindNames),
    all: (cluster, { signal }) => read(cluster, anyName, 'refresh', { signal }),
    async of({ owner, removing }, { signal }) {
      if (removing) project.forgetUsers(owner.service);
      const lists = removing && hasOthers(owner) ? project.listsOf(loadBalancerName(owner.service)) : new Set<string>();
      const names = `.*(${loadBalancerName(owner.service)}|${clusterId(owner.cluster)}).*`;
      const only = lists.size === 0 ? undefined : lists;
      return { found: await read(owner.cluster, names, 'need', { signal }, only) };
    },
  };

  const sets = new Map<string, readonly ObservedMember[]>();
  function membersOf(shown: Shown): readonly ObservedMember[] {
    const paths = instancesOf(shown, project);
    const key = paths.join();
    const same = sets.get(key);
    if (same !== undefined) return same;
    const members = paths.map((path): ObservedMember => {
      return { providerID: project.providerID(path), draining: false, healthy: undefined };
    });
    // Nodes come and go: what is no longer used is forgotten.
    if (sets.size >= 100) sets.clear();
    sets.set(key, members);
    return members;
  }

  /** By the name and the description that the classic controller gives, and by the address in the Service's status. */
  function adopts({ kind, key, body }: Found, { owner, service, proof }: AdoptionInput): string | undefined {
    const shown = body as Shown;
    const name = loadBalancerName(owner.service);
    if (loadBalancerIn(shown.name) !== name || proof.addresses.length === 0) return undefined;
    const { 'kubernetes.io/service-name': described, 'mooring.dev/cluster': cluster } = descriptionOf(shown);
    const isDescribed =
      described === service || described === name || (described === undefined && kind !== kindNames.rule);
    if (!isDescribed || cluster !== undefined) return undefined;
    const rule = project.at(rulePath(project, name));
    // It may be gone already, while the rest is being deleted.
    const ip = rule && ipOf(rule);
    if (ip !== undefined && !proof.addresses.includes(ip)) return undefined;
    parts.adopters.set(name, owner.service);
    return key;
  }
  function show({ body }: Found, found: readonly Found[]): ShownLoadBalancer {
    const { name, wire } = body as Shown<{ readonly creationTimestamp?: string }>;
    const of = (kind: string, own: string) =>
      found.find((one) => one.kind === kind && (one.body as Shown).name === own);
    const ingress = (['IPv4', 'IPv6'] as const).flatMap((family) => {
      const front = of(kindNames.rule, nameFor(family, name)) ?? of(kindNames.address, nameFor(family, name));
      const ip = front && ipOf(front.body as Shown);
      return ip === undefined ? [] : [{ ip }];
    });
    return {
      name,
      ingress,
      createdAtMs: Date.parse(wire.creationTimestamp ?? '') || undefined,
      service: descriptionOf(body as Shown)['kubernetes.io/service-name'],
    };
  }

  return {
    main: kindNames.backend,
    kinds: [
      ruleKind(parts),
      backendKind(parts),
      checkKind(parts),
      firewallKind(parts, checksOf),
      groupKind(parts),
      addressKind(parts),
    ] as unknown as readonly Kind[],
    readers: [reader],
    startTerm: project.startTerm,
    desire: (input) => desireOf(input, parts),
    // Each change waits for its operation.
    poll: async () => new Map(),
    annotations,
    annotationPrefixes,
    classicFinalizers,
    adopts,
    show,
    maxMembers: undefined,
    drains: false,
    members(found) {
      const main = found.find(({ kind }) => kind === kindNames.backend);
      return main === undefined ? [] : membersOf(main.body as Shown);
    },
    slots: ({ name }) => [servicePath(project, name), poolPath(project, name)],
  };
}
