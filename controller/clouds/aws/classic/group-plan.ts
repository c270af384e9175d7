import type { Refusal } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';
import { planGroupRemoval } from '../security-groups/group-removal.ts';
import { nodeGroupsOf } from '../security-groups/node-group.ts';
import { type NodeRuleWish, planNodeRules } from '../security-groups/node-rules.ts';
import { frontRules, planOwnGroup } from '../security-groups/own-group.ts';
import { planTrafficGroup, trafficGroupOf } from '../security-groups/traffic-group.ts';
import type { ClassicLoadBalancer } from './classic-load-balancer.ts';
import { type ClassicPieces, ownGroupIn, ownGroupName, ownTags } from './observed.ts';
import type { Wanted } from './plan.ts';
import type { Registered } from './step.ts';
import { type ClassicStep, groupStep } from './step.ts';

const everybody = ['0.0.0.0/0'];

export interface FrontGroups {
  readonly steps: readonly ClassicStep[];
  readonly refusals: readonly Refusal[];
  /** That the load balancer is to carry: ids, or names where a step makes them. */
  readonly groups: readonly string[];
}

/**
 * The security groups of the load balancer: a person's, where the annotation or the cloud config names them, and they are left as they are; else one of its own, and the traffic
 * group of the cluster. One that reaches its nodes by another rule (the classic controller makes one for each load balancer) goes on so.
 */
export function planFrontGroups(wanted: Wanted, pieces: ClassicPieces | undefined): FrontGroups {
  const { desired, settings, subject, config } = wanted;
  const carried = pieces?.balancer?.securityGroups ?? [];
  // What is not understood opens and closes nothing.
  if (settings.securityGroups === undefined) return { steps: [], refusals: [], groups: carried };
  const added = settings.extraSecurityGroups;
  const given = personsGroups(wanted);
  if (given !== undefined) return { steps: [], refusals: [], groups: [...new Set([...given, ...(added ?? carried)])] };
  const own = pieces && ownGroupIn(pieces);
  const name = ownGroupName(desired.name);
  const sources = desired.sourceRanges.length > 0 ? desired.sourceRanges : everybody;
  const ports = desired.ports.filter(({ protocol, nodePort }) => protocol === 'TCP' && nodePort !== 0);
  const plan = planOwnGroup(
    {
      owner: desired.owner,
      service: desired.service,
      name,
      description: `Security group for Kubernetes ELB ${desired.name} (${desired.service})`,
      tags: { ...settings.tags, 'kubernetes.io/service-name': desired.service, ...ownTags(desired) },
      rules: frontRules(ports, sources),
      adopted: own?.id,
    },
    pieces?.facts,
  );
  const calls = [...plan.calls];
  const groups = [own?.id ?? name];
  if (!config.disableSecurityGroupIngress && needsTrafficGroup(pieces, own?.id)) {
    const traffic = planTrafficGroup({ owner: desired.owner, clusterName: desired.clusterName }, pieces?.facts);
    calls.push(...traffic.calls);
    groups.push(traffic.group);
  }
  const extra = (added ?? carried).filter((id) => !groups.includes(id));
  return {
    steps: calls.map((call) => groupStep(subject, call)),
    refusals: plan.refusals,
    groups: [...groups, ...extra],
  };
}

function personsGroups({ settings, config }: Wanted): readonly string[] | undefined {
  if (settings.securityGroups === undefined || settings.securityGroups.length > 0) return settings.securityGroups;
  return config.elbSecurityGroup === undefined ? undefined : [config.elbSecurityGroup];
}

/** Where it stands already and every node's group lets in everything from its own group, it needs none. */
function needsTrafficGroup(pieces: ClassicPieces | undefined, own: string | undefined): boolean {
  if (pieces?.balancer === undefined) return true;
  const { balancer, facts, subject } = pieces;
  const traffic = trafficGroupOf(facts, subject.owner.cluster);
  if (traffic !== undefined && balancer.securityGroups.includes(traffic.id)) return true;
  const { groups } = nodeGroupsOf(balancer.instances, facts);
  const isOpen = (nodeGroup: string) =>
    facts.groups.get(nodeGroup)?.ingress.some(({ protocol, source }) => protocol === '-1' && source === own);
  return !(own !== undefined && groups.length > 0 && groups.every(isOpen));
}

/** What the nodes' groups let in: what they are to let in besides, before the load balancer carries other groups, and what they need not any more, afterwards. */
export function planNodes(
  wanted: Wanted,
  pieces: ClassicPieces,
  balancer: ClassicLoadBalancer,
  carries: readonly string[],
  members: { readonly all: readonly Registered[] },
): {
  readonly opening: readonly ClassicStep[];
  readonly closing: readonly ClassicStep[];
  readonly refusals: readonly Refusal[];
} {
  const { desired, subject, config } = wanted;
  const traffic = trafficGroupOf(pieces.facts, desired.owner.cluster)?.id;
  const source = traffic !== undefined && carries.includes(traffic) ? traffic : undefined;
  const own = ownGroupIn(pieces);
  const isOwn = source !== undefined || (own !== undefined && carries.includes(own.id));
  // A group of a person is let in to the ports of this Service alone.
  const [persons] = isOwn ? [] : (personsGroups(wanted)?.filter((id) => carries.includes(id)) ?? carries);
  const plan = planNodeRules(
    {
      owner: desired.owner,
      loadBalancer: desired.name,
      groups: persons === undefined ? carries : [],
      source,
      instances: [...new Set([...members.all.map(({ id }) => id), ...balancer.instances])],
      clients: persons === undefined ? [] : [persons],
      subnetCidrs: persons === undefined ? [] : [persons],
      ...portsOf(wanted, balancer),
      adopted: pieces.adopted,
      disabled: config.disableSecurityGroupIngress,
    },
    pieces.facts,
  );
  const opens = (call: (typeof plan.calls)[number]) => call.call.does === 'authorize ingress';
  return {
    opening: plan.calls.filter(opens).map((call) => groupStep(subject, call)),
    closing: plan.calls.filter((call) => !opens(call)).map((call) => groupStep(subject, call)),
    refusals: plan.refusals,
  };
}

/** Where the load balancer reaches members, as it is and as it is to be. */
function portsOf(
  { desired, settings }: Wanted,
  { listeners, health }: ClassicLoadBalancer,
): Pick<NodeRuleWish, 'ports' | 'healthPorts'> {
  const all = new Set([...(settings.listeners ?? []), ...listeners].map(({ instancePort }) => instancePort));
  const probed = [settings.health, health].flatMap((check) => /:(\d+)/.exec(check?.target ?? '')?.[1] ?? []);
  const isShared = (port: number) =>
    desired.trafficPolicy === 'Cluster' && !all.has(port) && desired.annotations[keys.healthPort] === undefined;
  return {
    ports: [...all].map((port) => ({ protocol: 'tcp', port })),
    healthPorts: [...new Set(probed.map(Number))]
      .filter((port) => !all.has(port))
      .map((port) => ({ port, shared: isShared(port) })),
  };
}

/** A group of its own that it does not carry any more, since a person has named others. */
export function planUnusedGroups(
  wanted: Wanted,
  pieces: ClassicPieces,
  balancer: ClassicLoadBalancer,
): { readonly steps: readonly ClassicStep[]; readonly waitMs: number | undefined } {
  const own = ownGroupIn(pieces);
  if (own === undefined || personsGroups(wanted) === undefined || balancer.securityGroups.includes(own.id)) {
    return { steps: [], waitMs: undefined };
  }
  const { subject, facts } = pieces;
  const removal = { owner: subject.owner, loadBalancer: subject.name, ownGroup: own.id, groups: [], stays: true };
  const { steps, waitMs } = planGroupRemoval(removal, facts);
  return { steps: steps.map((call) => groupStep(subject, call)), waitMs };
}
