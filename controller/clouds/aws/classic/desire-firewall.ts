import type { Refusal, ResourceName, Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { keys } from '../load-balancer-annotations.ts';
import { desireFront, desireTraffic, trafficResource } from '../security-groups/desire-front.ts';
import { desireNodeRules, isOpenFrom } from '../security-groups/desire-node-rules.ts';
import { frontRules } from '../security-groups/front-rules.ts';
import { frontKeys, frontName } from '../security-groups/group-resources.ts';
import { mostGroups } from '../security-groups/traffic-group.ts';
import { type DesireParts as CommonParts, keep, ownOf, type Standing as StandingOf } from '../standing.ts';
import type { Member } from './balancer-spec.ts';
import { type ClassicLoadBalancer, probedPort } from './classic-load-balancer.ts';
import { classicKinds } from './resources.ts';
import type { ClassicConfig, ClassicSettings } from './settings.ts';

export type DesireParts = CommonParts<ClassicConfig>;
export type Standing = StandingOf<ClassicLoadBalancer>;

const everybody = ['0.0.0.0/0'];
const frontResource: ResourceName = `${classicKinds.front}/main`;

/** What the groups of the nodes let in for it: everything from the traffic group, or its own ports from a person's. */
export function nodeRules(
  input: DesireInput,
  settings: ClassicSettings,
  { balancer, isAdopted, front, traffic, groups: all }: Standing,
  { view, config }: DesireParts,
  members: readonly Member[],
  groups: readonly string[],
) {
  const instances = [...new Set([...members.map(({ id }) => id), ...(balancer?.instances ?? [])])];
  const source = [traffic, trafficResource].find((one) => one !== undefined && groups.includes(one));
  const isOwn = source !== undefined || groups.includes(front?.id ?? frontResource);
  // A group of a person is let in to the ports of this Service alone.
  const clients = (isOwn ? [] : (personsGroups(settings, config) ?? groups)).slice(0, 1);
  // Where the load balancer reaches members, as it is and as it is to be.
  const listeners = [...(settings.listeners ?? []), ...(balancer?.listeners ?? [])];
  const ports = [...new Set(listeners.map(({ instancePort }) => instancePort))];
  const probed = [settings.health, balancer?.health].flatMap((check) => probedPort(check) ?? []);
  const health = [...new Set(probed)].filter((port) => !ports.includes(port));
  return desireNodeRules({
    input,
    instances,
    groups,
    clients,
    traffic,
    checks: clients,
    front: front?.id,
    needs: [],
    facts: { ...view.facts(instances), groups: all },
    carried: balancer?.securityGroups ?? [],
    ports: ports.map((port) => ({ protocol: 'tcp', port })),
    health,
    isAdopted,
    isDisabled: config.disableSecurityGroupIngress,
  });
}

/** Instead of a group of its own. Undefined: the annotation is not understood, or there are none. */
function personsGroups(
  { securityGroups }: ClassicSettings,
  config: Pick<ClassicConfig, 'elbSecurityGroup'>,
): readonly string[] | undefined {
  if (securityGroups === undefined || securityGroups.length > 0) return securityGroups;
  return config.elbSecurityGroup === undefined ? undefined : [config.elbSecurityGroup];
}

/**
 * The security groups of the load balancer: a person's, where the annotation or the cloud config names them, left as
 * they are; else one of its own, and the traffic group of the cluster. One that reaches its nodes by another rule (the
 * classic controller makes one for each load balancer) goes on so. `groups`: ids, or names of resources that are still
 * to be made.
 */
export function desireGroups(
  input: DesireInput,
  settings: ClassicSettings,
  standing: Standing,
  parts: DesireParts,
): { readonly wants: readonly Want[]; readonly refusals: readonly Refusal[]; readonly groups: readonly string[] } {
  const { desired } = input;
  const { balancer, front } = standing;
  const { config, view } = parts;
  const carried = balancer?.securityGroups ?? [];
  const kept = ownOf(input, classicKinds.front)
    .filter(({ id }) => id === front?.id)
    .map(keep);
  // What is not understood opens and closes nothing.
  if (settings.securityGroups === undefined) return { wants: kept, refusals: [], groups: carried };
  const added = settings.extraSecurityGroups;
  const given = personsGroups(settings, config);
  // Its own goes when the load balancer carries the others.
  const isCarried = front !== undefined && carried.includes(front.id);
  if (given !== undefined)
    return {
      wants: isCarried ? kept : [],
      refusals: [],
      groups: [...new Set([...given, ...(added ?? carried.filter((id) => id !== front?.id))])],
    };
  const sources = desired.sourceRanges.length > 0 ? desired.sourceRanges : everybody;
  const ports = desired.ports.filter(({ protocol, nodePort }) => protocol === 'TCP' && nodePort !== 0);
  const own = desireFront(desired, standing, {
    name: frontName(desired.name),
    key: frontKeys.classic,
    rules: frontRules(ports, sources),
    tags: settings.tags,
  });
  if ('refusal' in own) return { wants: kept, refusals: [own.refusal], groups: carried };
  const wants: Want[] = [own.want];
  const groups = [front?.id ?? frontResource];
  const others = (added ?? carried).filter((id) => !groups.includes(id));
  const traffic = standing.traffic ?? trafficResource;
  const hasRoom = new Set([...groups, ...others, traffic]).size <= mostGroups;
  const isDisabled = config.disableSecurityGroupIngress;
  if (!hasRoom && isDisabled && carried.includes(traffic)) {
    const why = `${others.length} groups leave no room for the traffic group, which lets it in to the nodes`;
    const message = `${keys.extraSecurityGroups}: ${why}, see DisableSecurityGroupIngress`;
    return {
      wants: [...wants, desireTraffic(desired)],
      refusals: [{ reason: 'Unsupported', message }],
      groups: carried,
    };
  }
  const isAsked = !isDisabled && needsTrafficGroup(standing, view);
  if (hasRoom && (isAsked || carried.includes(traffic))) {
    wants.push(desireTraffic(desired));
    groups.push(traffic);
  }
  return { wants, refusals: [], groups: [...new Set([...groups, ...others])] };
}

/** Where it stands already and every node's group lets in everything from its own group, it needs none. */
function needsTrafficGroup({ balancer, front, groups: all }: Standing, view: DesireParts['view']): boolean {
  if (balancer === undefined) return true;
  const { instances } = balancer;
  return front === undefined || !isOpenFrom(front.id, instances, { ...view.facts(instances), groups: all });
}
