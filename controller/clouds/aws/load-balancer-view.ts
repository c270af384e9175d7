import type { Found, Reference } from '../../engine/resource.ts';
import { type Owner, ownerTags } from '../load-balancers.ts';
import type { ClusterTags } from './cluster-tags.ts';
import { ownerIn, serviceNameTag, type Tags } from './load-balancer-tags.ts';
import { createForwards, type Forwards } from './nlb/forwards.ts';
import type { TargetGroup } from './nlb/network-load-balancer.ts';
import type { Carrier, Carriers } from './security-groups/carriers.ts';
import { type GroupView, groupKinds, nodeRuleKey, showGroups } from './security-groups/group-resources.ts';
import { markedBy, type NetworkFacts } from './security-groups/network-facts.ts';
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
export interface LoadBalancerView extends GroupView {
  /** By its tags, and before its first read by upstream's scheme. */
  nameOf(service: string): string;
  /** Undefined before the first read. */
  readonly marks: ClusterMarks | undefined;
  setMarks(marks: ClusterMarks): void;
  /** What every instance of these ids is known to be, and all groups. */
  facts(instances: readonly string[]): NetworkFacts;
  /** By its name. */
  carrier(name: string): Carrier | undefined;
  /** Of a complete list, or one as it is now; without tags, it is gone. */
  noteTargetGroups(groups: readonly NotedTargetGroup[], isComplete: boolean): void;
  /** Who took over, or took back, the load balancer of a Service, if nothing else is on `arns`. */
  takenOverBy(service: string, arns: readonly string[]): Owner | undefined;
  readonly forwards: Forwards;
  /** What a load balancer refers to by the security groups that it carries. */
  groupRefs(groups: readonly string[]): readonly Reference[];
  showGroups(): readonly Found[];
}

type NotedTargetGroup = Pick<TargetGroup, 'arn' | 'tags'> & Partial<Pick<TargetGroup, 'health'>>;

export function createLoadBalancerView(
  reads: Pick<NetworkReads, 'lastGroups' | 'knownInstances' | 'groupsOfInstances'>,
  carriers: Pick<Carriers, 'all'>,
): LoadBalancerView {
  let marks: ClusterMarks | undefined;
  /** Of target groups, by ARN. */
  const owners = new Map<string, Owner>();
  /** What target groups of ours probe, by ARN. */
  const probed = new Map<string, string>();
  const ownerOfTags = (tags: Tags | undefined) =>
    tags === undefined || marks === undefined ? undefined : ownerIn(tags, marks.cluster);

  const view: LoadBalancerView = {
    get marks() {
      return marks;
    },
    get cluster() {
      return marks?.cluster ?? '';
    },
    setMarks: (next) => {
      marks = next;
    },
    nameOf(service) {
      const known = carriers.all().find(({ tags }) => ownerOfTags(tags)?.service === service);
      return known?.name ?? defaultName(service);
    },
    isCluster: (tags) => marks !== undefined && markedBy(marks.tags).isCluster(tags),
    forwards: createForwards(),
    isOfNodes: (group) => reads.groupsOfInstances().has(group),
    ownerOf(name) {
      const owned = carriers.all().flatMap((one) => (one.name === name ? (ownerOfTags(one.tags) ?? []) : []));
      return owned[0] ?? [...owners.values()].find(({ service }) => defaultName(service) === name);
    },
    carrier(name) {
      const named = carriers.all().filter((one) => one.name === name);
      return named.find(({ tags }) => tags !== undefined) ?? named[0];
    },
    carriersOf: (group) => carriers.all().filter(({ groups }) => groups.includes(group)),
    targetGroupsOf: ({ service }) => [...owners].flatMap(([arn, owner]) => (owner.service === service ? [arn] : [])),
    noteTargetGroups(next, isComplete) {
      if (isComplete) owners.clear();
      if (isComplete) probed.clear();
      for (const { arn, tags, health } of next) {
        const owner = ownerOfTags(tags);
        if (owner === undefined) owners.delete(arn);
        else owners.set(arn, owner);
        if (owner === undefined || health === undefined) probed.delete(arn);
        else probed.set(arn, health.port);
      }
    },
    mayProbe(name, port) {
      const owner = view.ownerOf(name);
      const ports = [
        ...carriers.all().flatMap((one) => (one.name === name ? (one.probes ?? []) : [])),
        ...(owner === undefined ? [] : view.targetGroupsOf(owner).flatMap((arn) => probed.get(arn) ?? [])),
      ];
      return ports.length === 0 || ports.some((one) => String(one) === String(port));
    },
    facts: (instances) => ({
      groups: reads.lastGroups() ?? new Map(),
      instances: reads.knownInstances(instances),
      ...(marks === undefined ? { isCluster: () => false, mayBeNode: () => false } : markedBy(marks.tags)),
    }),
    takenOverBy(service, arns) {
      const isIts = (tags: Tags) => (tags[ownerTags.serviceName] ?? tags[serviceNameTag]) === service;
      const its = carriers.all().find(({ tags = {} }) => isIts(tags) && ownerOfTags(tags));
      return its !== undefined && arns.every((arn) => arn === its.id) ? ownerOfTags(its.tags) : undefined;
    },
    groupRefs: (groups) => [
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
    showGroups: () => showGroups(reads.lastGroups()?.values() ?? [], view),
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
