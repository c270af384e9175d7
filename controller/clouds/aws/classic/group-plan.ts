import type { Refusal } from '../../load-balancers.ts';
import { planGroupRemoval } from '../security-groups/group-removal.ts';
import { nodeGroupsOf } from '../security-groups/node-group.ts';
import { planNodeRules } from '../security-groups/node-rules.ts';
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
  if (!config.disableSecurityGroupIngress && needsTrafficGroup(pieces)) {
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

/** Where it stands already and every node's group lets in everything from one of its groups, it needs none. */
function needsTrafficGroup(pieces: ClassicPieces | undefined): boolean {
  if (pieces?.balancer === undefined) return true;
  const { balancer, facts, subject } = pieces;
  const traffic = trafficGroupOf(facts, subject.owner.cluster);
  if (traffic !== undefined && balancer.securityGroups.includes(traffic.id)) return true;
  const { groups } = nodeGroupsOf(balancer.instances, facts);
  return !(groups.length > 0 && groups.every((id) => isOpen(pieces, id)));
}

function isOpen({ balancer, facts }: ClassicPieces, nodeGroup: string): boolean {
  const rules = facts.groups.get(nodeGroup)?.ingress ?? [];
  return rules.some(({ protocol, source }) => protocol === '-1' && balancer?.securityGroups.includes(source));
}

/** What the nodes' groups let in. */
export function planNodes(
  wanted: Wanted,
  pieces: ClassicPieces,
  balancer: ClassicLoadBalancer,
  members: { readonly all: readonly Registered[] },
): { readonly steps: readonly ClassicStep[]; readonly refusals: readonly Refusal[] } {
  const { desired, subject, config } = wanted;
  const traffic = trafficGroupOf(pieces.facts, desired.owner.cluster);
  const plan = planNodeRules(
    {
      owner: desired.owner,
      loadBalancer: desired.name,
      groups: balancer.securityGroups,
      source: sourceOf(wanted, balancer, traffic?.id),
      instances: [...new Set([...members.all.map(({ id }) => id), ...balancer.instances])],
      ...{ clients: [], ports: [], subnetCidrs: [], healthPorts: [] },
      disabled: config.disableSecurityGroupIngress,
    },
    pieces.facts,
  );
  return { steps: plan.calls.map((call) => groupStep(subject, call)), refusals: plan.refusals };
}

/** By which of its groups a new rule lets it in; undefined while it does not carry that group yet. */
function sourceOf(
  wanted: Wanted,
  { securityGroups }: ClassicLoadBalancer,
  traffic: string | undefined,
): string | undefined {
  const given = personsGroups(wanted);
  const source = given === undefined ? traffic : given[0];
  return source !== undefined && securityGroups.includes(source) ? source : undefined;
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
  const removal = { owner: subject.owner, loadBalancer: subject.name, ownGroup: own.id, groups: [] };
  const { steps, waitMs } = planGroupRemoval(removal, facts);
  return { steps: steps.map((call) => groupStep(subject, call)), waitMs };
}
