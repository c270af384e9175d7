import type { Found, Reference } from '../../engine/resource.ts';
import { type Owner, ownerTags } from '../load-balancers.ts';
import type { ClusterTags } from './cluster-tags.ts';
import { ownerIn, serviceNameTag, type Tags } from './load-balancer-tags.ts';
import { createForwards } from './nlb/forwards.ts';
import type { TargetGroup } from './nlb/network-load-balancer.ts';
import type { Carrier, Carriers } from './security-groups/carriers.ts';
import { groupKinds, nodeRuleKey, showGroups } from './security-groups/group-resources.ts';
import type { NetworkFacts } from './security-groups/network-facts.ts';
import type { NetworkReads } from './security-groups/network-reads.ts';

/** Upstream's name for the load balancer of a Service. */
export function defaultName(service: string): string {
  return `a${service.replaceAll('-', '')}`.slice(0, 32);
}

/** A name is given once, whichever type the load balancer has. */
export function slotOf(name: string): string {
  return `load balancer ${name}`;
}

/** What a read has to find out before resources can be shown. */
export interface ClusterMarks {
  /** UID of the namespace kube-system. */
  readonly cluster: string;
  readonly tags: ClusterTags;
}

/** Load balancers and groups as they were last seen: each shows whose the other is. */
export type LoadBalancerView = ReturnType<typeof createLoadBalancerView>;

type NotedTargetGroup = Pick<TargetGroup, 'arn' | 'tags'> & Partial<Pick<TargetGroup, 'health'>>;

export function createLoadBalancerView(
  reads: Pick<NetworkReads, 'lastGroups' | 'knownInstances' | 'groupsOfInstances'>,
  carriers: Pick<Carriers, 'all'>,
) {
  let marks: ClusterMarks | undefined;
  /** Of ours: whose they are, and the port that they probe, by ARN. */
  const targetGroups = new Map<string, { readonly owner: Owner; readonly probes: string | undefined }>();
  const ownerOfTags = (tags: Tags | undefined) =>
    tags === undefined || marks === undefined ? undefined : ownerIn(tags, marks.cluster);

  const view = {
    /** Undefined before the first read. */
    get marks() {
      return marks;
    },
    get cluster() {
      return marks?.cluster ?? '';
    },
    setMarks(next: ClusterMarks): void {
      marks = next;
    },
    /** By its tags, and before its first read by upstream's scheme. */
    nameOf(service: string): string {
      const known = carriers.all().find(({ tags }) => ownerOfTags(tags)?.service === service);
      return known?.name ?? defaultName(service);
    },
    isCluster: (tags: Tags) => marks?.tags.marks(tags) === true,
    forwards: createForwards(),
    isOfNodes: (group: string) => reads.groupsOfInstances().has(group),
    ownerOf(name: string): Owner | undefined {
      const owned = carriers.all().flatMap((one) => (one.name === name ? (ownerOfTags(one.tags) ?? []) : []));
      return owned[0] ?? [...targetGroups.values()].find(({ owner }) => defaultName(owner.service) === name)?.owner;
    },
    carrier(name: string): Carrier | undefined {
      const named = carriers.all().filter((one) => one.name === name);
      return named.find(({ tags }) => tags !== undefined) ?? named[0];
    },
    carriersOf: (group: string) => carriers.all().filter(({ groups }) => groups.includes(group)),
    targetGroupsOf: ({ service }: Owner): readonly string[] =>
      [...targetGroups].flatMap(([arn, { owner }]) => (owner.service === service ? [arn] : [])),
    /** Of a complete list, or one as it is now; without tags, it is gone. */
    noteTargetGroups(next: readonly NotedTargetGroup[], isComplete: boolean): void {
      if (isComplete) targetGroups.clear();
      for (const { arn, tags, health } of next) {
        const owner = ownerOfTags(tags);
        if (owner === undefined) targetGroups.delete(arn);
        else targetGroups.set(arn, { owner, probes: health?.port });
      }
    },
    mayProbe(name: string, port: number): boolean {
      const owner = view.ownerOf(name);
      const ports = [
        ...carriers.all().flatMap((one) => (one.name === name ? (one.probes ?? []) : [])),
        ...(owner === undefined
          ? []
          : view.targetGroupsOf(owner).flatMap((arn) => targetGroups.get(arn)?.probes ?? [])),
      ];
      return ports.length === 0 || ports.some((one) => String(one) === String(port));
    },
    /** What every instance of these ids is known to be, and all groups. */
    facts: (instances: readonly string[]): NetworkFacts => ({
      groups: reads.lastGroups() ?? new Map(),
      instances: reads.knownInstances(instances),
      cluster: marks?.tags ?? { has: () => false, marks: () => false },
    }),
    /** Who took over, or took back, the load balancer of a Service, if nothing else is on `arns`. */
    takenOverBy(service: string, arns: readonly string[]): Owner | undefined {
      const isIts = (tags: Tags) => (tags[ownerTags.serviceName] ?? tags[serviceNameTag]) === service;
      const its = carriers.all().find(({ tags = {} }) => isIts(tags) && ownerOfTags(tags));
      return its !== undefined && arns.every((arn) => arn === its.id) ? ownerOfTags(its.tags) : undefined;
    },
    /** What a load balancer refers to by the security groups that it carries. */
    groupRefs: (groups: readonly string[]): readonly Reference[] => [
      ...groups.flatMap((id): Reference[] => [
        { role: 'groups', kind: groupKinds.front, id },
        { role: 'groups', kind: groupKinds.traffic, id },
      ]),
      // What lets it in to the nodes goes after it.
      ...[...reads.groupsOfInstances()].flatMap((group) =>
        groups.map((source): Reference => {
          const id = nodeRuleKey(group, { protocol: '-1', fromPort: -1, toPort: -1, source });
          return { role: 'nodes', kind: groupKinds.rule, id, loose: true, proof: true };
        }),
      ),
    ],
    showGroups: (): Found[] => showGroups(reads.lastGroups()?.values() ?? [], view),
  };
  return view;
}

/** Without our tags, as the call shows it: while its load balancer has them, a read would show it as ours. */
export function givenUp({ owner: _, key: __, ...shown }: Found): Found {
  return { ...shown, retained: true };
}

/** Kept on purpose when its Service went. */
export function isRetained(tags: Tags, cluster: string): boolean {
  return (
    tags[ownerTags.cluster] === cluster &&
    tags[ownerTags.service] === undefined &&
    tags[ownerTags.retained] !== undefined
  );
}
