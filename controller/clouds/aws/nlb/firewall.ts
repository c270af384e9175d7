import type { DesiredLoadBalancer, Refusal } from '../../load-balancers.ts';
import type { ClusterTags } from '../cluster-tags.ts';
import { keys } from '../load-balancer-annotations.ts';
import { isClassicControllers, type Tags } from '../load-balancer-tags.ts';
import type { NetworkFacts } from '../security-groups/network-facts.ts';
import { planNodeRules } from '../security-groups/node-rules.ts';
import { frontRules, planOwnGroup, type SecurityGroupPlan } from '../security-groups/own-group.ts';
import type { PlannedSecurityGroupCall } from '../security-groups/security-group-call.ts';
import { planTrafficGroup, trafficGroupOf } from '../security-groups/traffic-group.ts';
import type { Subnet } from '../subnets.ts';
import { securityGroupName } from './names.ts';
import { frontGroupOf, type LoadBalancer, type Subject } from './observed.ts';
import type { NlbSettings } from './settings.ts';
import { type NlbStep, securityGroupStep } from './step.ts';
import type { WantedListener } from './wanted.ts';

export interface FirewallWish {
  readonly desired: DesiredLoadBalancer;
  readonly settings: NlbSettings;
  readonly listeners: readonly WantedListener[];
  readonly cluster: ClusterTags;
  readonly tags: Tags;
  /** Each network load balancer gets a security group of its own. */
  readonly managed: boolean;
  /** The nodes' groups are left alone. */
  readonly nodesLeftAlone: boolean;
  /** Those that the load balancer stands in, where it has no security group. */
  readonly subnets: readonly Subnet[];
  /** Ids of the members that are instances. */
  readonly instances: readonly string[];
  readonly adopting: boolean;
}

export interface Firewall {
  /** Before the load balancer is made. */
  readonly groups: readonly NlbStep[];
  /** Groups that the load balancer is to carry, ids or names of those that are still to be made; undefined = it stays without any. */
  readonly carried: readonly string[] | undefined;
  /** When the load balancer is there. */
  readonly nodes: readonly NlbStep[];
  readonly refusals: readonly Refusal[];
}

const everybody = { IPv4: '0.0.0.0/0', IPv6: '::/0' } as const;

export function clientsOf({ sourceRanges, families }: DesiredLoadBalancer): readonly string[] {
  return sourceRanges.length > 0 ? sourceRanges : families.map((family) => everybody[family]);
}

/**
 * What lets clients reach the load balancer, and it the nodes. A network load balancer that was made without security groups can never get any: then the nodes' own
 * groups decide who reaches them.
 *
 * @param existing undefined = it is still to be made; one that somebody else made keeps its groups
 */
export function planFirewall(
  subject: Subject,
  wish: FirewallWish,
  facts: NetworkFacts | undefined,
  existing: LoadBalancer | undefined,
  attached: boolean,
): Firewall {
  const { desired, settings, managed } = wish;
  const has = existing ? existing.securityGroups.length > 0 : managed;
  const given = settings.securityGroups;
  const groups: PlannedSecurityGroupCall[] = [];
  const refusals: Refusal[] = [];
  // Their connections come from the load balancer's own addresses, like its probes.
  const hiding = wish.listeners.filter(({ group }) => group.attributes['preserve_client_ip.enabled'] === 'false');
  let carried: readonly string[] | undefined;
  let source: string | undefined;
  // Groups of persons, and of other Services: each Service is let in from there to ports of its own, by rules that go with it.
  let from = attached ? existing?.securityGroups[0] : undefined;
  if (attached) carried = [];
  else if (existing && has && settings.unclear.has(keys.securityGroups)) {
    carried = existing.securityGroups;
  } else if (has && given.length > 0) {
    carried = given;
  } else if (has && (managed || ownsGroup(subject, facts))) {
    const own = planFront(subject, wish, facts);
    const traffic = planTrafficGroup({ owner: subject.owner, clusterName: desired.clusterName }, facts);
    const front = own.group;
    const covered =
      existing?.securityGroups.includes(front) && planNodes(existing.securityGroups, traffic.group).calls.length === 0;
    groups.push(...own.calls);
    refusals.push(...own.refusals);
    source = traffic.group;
    // What reaches the nodes already needs no group more.
    if (covered) carried = existing!.securityGroups;
    else {
      groups.push(...traffic.calls);
      carried = [front, traffic.group];
    }
  } else if (has) {
    // Not ours: groups that somebody gave it, and nothing is said about them.
    carried = existing?.securityGroups;
  }
  if (!attached && source === undefined && carried !== undefined) {
    const traffic = trafficGroupOf(facts, subject.owner.cluster)?.id;
    const own = facts && frontGroupOf(facts, subject.owner)?.id;
    if (traffic !== undefined && carried.includes(traffic)) source = traffic;
    else if (own === undefined || !carried.includes(own)) from = carried[0];
  }
  const isBare = existing ? existing.securityGroups.length === 0 : !has;
  if (isBare && desired.sourceRanges.length > 0 && (hiding.length > 0 || desired.families.includes('IPv6'))) {
    const message = `spec.loadBalancerSourceRanges: members see other addresses than those of clients (${keys.targetGroupAttributes}, ${keys.targetType}, or IPv6), and this load balancer has no security group, see NLBSecurityGroupMode`;
    refusals.push({ reason: 'Unsupported', message });
  }
  const nodes = planNodes(carried ?? [], source);
  return {
    groups: groups.map((call) => securityGroupStep(subject, call)),
    carried,
    nodes: nodes.calls.map((call) => securityGroupStep(subject, call)),
    refusals: [...refusals, ...nodes.refusals],
  };

  function planNodes(carriedGroups: readonly string[], trusted: string | undefined): SecurityGroupPlan {
    if (facts === undefined) return { calls: [], refusals: [] };
    // Of this Service alone.
    const named = new Set([...desired.ports.map(({ nodePort }) => nodePort), Number(settings.health.port)]);
    const ports = new Set([
      ...wish.listeners.map(({ group }) =>
        group.health.port === 'traffic-port' ? group.nodePort : Number(group.health.port),
      ),
      ...hiding.map(({ group }) => group.nodePort),
    ]);
    const cidrs = wish.subnets
      .filter(({ id }) => existing?.places.some(({ subnet }) => subnet === id))
      .flatMap(({ cidrs: ipv4, ipv6Cidrs }) => (desired.families.includes('IPv6') ? [...ipv4, ...ipv6Cidrs] : ipv4));
    return planNodeRules(
      {
        owner: subject.owner,
        loadBalancer: subject.name,
        groups: from === undefined ? carriedGroups : [],
        source: trusted,
        instances: wish.instances,
        clients: from === undefined ? clientsOf(desired) : [from],
        subnetCidrs: from === undefined ? cidrs : [from],
        ports: wish.listeners.flatMap(({ protocol, group }) =>
          protocolsOf(protocol).map((one) => ({ protocol: one, port: group.nodePort })),
        ),
        healthPorts: [...ports].map((port) => ({
          port,
          shared: desired.trafficPolicy === 'Cluster' && !named.has(port),
        })),
        adopted: wish.adopting,
        disabled: wish.nodesLeftAlone,
      },
      facts,
    );
  }
}

/** The group in front: who may reach the load balancer. */
function planFront(
  subject: Subject,
  { desired, listeners, cluster, tags, adopting }: FirewallWish,
  facts: NetworkFacts | undefined,
) {
  const there = facts && frontGroupOf(facts, subject.owner);
  const name = there?.name ?? securityGroupName(desired.clusterName, desired.service, subject.owner.service);
  const ports = listeners.flatMap(({ port, protocol }) =>
    protocolsOf(protocol).map((one) => ({ protocol: one, port })),
  );
  const adopted = adopting
    ? [...(facts?.groups.values() ?? [])].find(
        (group) => group.name === name && isClassicControllers(group.tags, desired.service, cluster),
      )?.id
    : undefined;
  const rules = frontRules(ports, clientsOf(desired));
  const description = `Security group for Kubernetes ELB ${subject.name} (${desired.service})`;
  const plan = planOwnGroup(
    { owner: subject.owner, service: desired.service, name, description, tags, rules, adopted },
    facts,
  );
  return { ...plan, group: there?.id ?? adopted ?? name };
}

function protocolsOf(protocol: WantedListener['protocol']): readonly ('tcp' | 'udp')[] {
  if (protocol === 'TCP_UDP') return ['tcp', 'udp'];
  return [protocol === 'UDP' ? 'udp' : 'tcp'];
}

function ownsGroup({ owner }: Subject, facts: NetworkFacts | undefined): boolean {
  return facts !== undefined && frontGroupOf(facts, owner) !== undefined;
}
