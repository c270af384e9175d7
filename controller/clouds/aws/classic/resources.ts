import type { Found, Reference } from '../../../engine/resource.ts';
import { ownerTags } from '../../load-balancers.ts';
import type { ClusterTags } from '../cluster-tags.ts';
import { ownerIn } from '../load-balancer-tags.ts';
import {
  balancerKind,
  type GroupView,
  groupKinds,
  nodeRuleKey,
  showGroups,
} from '../security-groups/group-resources.ts';
import { markedBy, type NetworkFacts } from '../security-groups/network-facts.ts';
import type { NetworkReads } from '../security-groups/network-reads.ts';
import { nodeGroupsOf } from '../security-groups/node-group.ts';
import type { Attributes, ClassicLoadBalancer } from './classic-load-balancer.ts';

export const classicKinds = {
  ...groupKinds,
  balancer: balancerKind,
  /** Of one load balancer; no list shows them. */
  attributes: 'attributes',
} as const;

/** Upstream's name for the load balancer of a Service. */
export function defaultName(service: string): string {
  return `a${service.replaceAll('-', '')}`.slice(0, 32);
}

export function slotOf(name: string): string {
  return `load balancer ${name}`;
}

/** What a read has to find out before resources can be shown. */
export interface ClusterMarks {
  /** UID of the namespace kube-system. */
  readonly cluster: string;
  readonly tags: ClusterTags;
}

/** Load balancers and groups as resources: each shows whose the other is, so both are kept as they were last seen. */
export interface ClassicView extends GroupView {
  /** By its tags, and before its first read by upstream's scheme. */
  nameOf(service: string): string;
  /** Undefined before the first read. */
  readonly marks: ClusterMarks | undefined;
  setMarks(marks: ClusterMarks): void;
  /** What every instance of these ids is known to be, and all groups. */
  facts(instances: readonly string[]): NetworkFacts;
  /** A complete list. */
  listed(balancers: readonly ClassicLoadBalancer[]): void;
  /** One as it is now, and what it shows. */
  take(balancer: ClassicLoadBalancer): Found[];
  forget(name: string): void;
  /** By its name, as it was last seen. */
  balancer(name: string): ClassicLoadBalancer | undefined;
  showGroups(): readonly Found[];
}

export function createClassicView(
  reads: Pick<NetworkReads, 'lastGroups' | 'knownInstances' | 'groupsOfInstances'>,
): ClassicView {
  let marks: ClusterMarks | undefined;
  let balancers = new Map<string, ClassicLoadBalancer>();

  const view: ClassicView = {
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
      const known = [...balancers.values()].find((one) => view.ownerOf(one.name)?.service === service);
      return known?.name ?? defaultName(service);
    },
    isCluster: (tags) => marks !== undefined && markedBy(marks.tags).isCluster(tags),
    isOfNodes: (group) => reads.groupsOfInstances().has(group),
    ownerOf(name) {
      const tags = balancers.get(name)?.tags;
      return tags === undefined ? undefined : ownerIn(tags, view.cluster);
    },
    carrierOf(name, group) {
      const balancer = balancers.get(name);
      return balancer?.securityGroups.includes(group) ? balancer.hostname : undefined;
    },
    facts: (instances) => ({
      ...{ vpcId: '', groups: reads.lastGroups() ?? new Map(), instances: reads.knownInstances(instances) },
      ...(marks === undefined ? { isCluster: () => false, mayBeNode: () => false } : markedBy(marks.tags)),
      ...{ users: undefined, busy: new Set() },
    }),
    listed(all) {
      balancers = new Map(all.map((one) => [one.name, one]));
    },
    take(balancer) {
      balancers.set(balancer.name, balancer);
      return showBalancer(balancer, view);
    },
    forget: (name) => void balancers.delete(name),
    balancer: (name) => balancers.get(name),
    showGroups: () => showGroups(reads.lastGroups()?.values() ?? [], view),
  };
  return view;
}

/** The load balancer, and its attributes where they are known. */
function showBalancer(balancer: ClassicLoadBalancer, view: ClassicView): Found[] {
  const { name, hostname, securityGroups, instances, tags, attributes } = balancer;
  const owner = ownerIn(tags, view.cluster);
  const { groups } = nodeGroupsOf(instances, view.facts(instances));
  const refs: Reference[] = [
    ...securityGroups.flatMap((id): Reference[] => [
      { role: 'groups', kind: groupKinds.front, id },
      { role: 'groups', kind: groupKinds.traffic, id },
    ]),
    // What lets it in to the nodes goes after it.
    ...groups.flatMap((group) =>
      securityGroups.map((source): Reference => {
        const id = nodeRuleKey(group, { protocol: '-1', fromPort: -1, toPort: -1, source });
        return { role: 'nodes', kind: groupKinds.rule, id, loose: true, proof: true };
      }),
    ),
  ];
  const shown: Found<ClassicLoadBalancer> = {
    kind: classicKinds.balancer,
    id: hostname,
    ...(owner !== undefined && { owner, key: 'main' }),
    slots: [slotOf(name)],
    refs,
    status: 'ready',
    retained: owner === undefined && isRetained(tags, view.cluster),
    address: hostname,
    body: { ...balancer, attributes: undefined },
  };
  return attributes === undefined ? [shown] : [shown, showAttributes(hostname, name, attributes)];
}

export interface AttributesBody {
  /** Of the load balancer. */
  readonly name: string;
  readonly attributes: Attributes;
}

export function showAttributes(hostname: string, name: string, attributes: Attributes): Found<AttributesBody> {
  const kind = classicKinds.attributes;
  return { kind, id: hostname, key: 'main', within: hostname, status: 'ready', body: { name, attributes } };
}

function isRetained(tags: ClassicLoadBalancer['tags'], cluster: string): boolean {
  return tags[ownerTags.cluster] === cluster && tags[ownerTags.retained] !== undefined;
}
