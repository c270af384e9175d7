import type { Desire, Refusal } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import type { HealthProbe } from '../config-values.ts';
import { keys } from '../load-balancer-annotations.ts';
import { judgeGroups } from '../security-groups/allowed-groups.ts';
import { frontKeys } from '../security-groups/group-resources.ts';
import { type DesireParts, ownOf, type Standing, standingOf } from '../standing.ts';
import { attachedWants } from './desire-attached.ts';
import { type Context, hostsOf } from './desire-context.ts';
import { ownWants } from './desire-own.ts';
import { desiredListeners, leaveUnchanged } from './desired-listeners.ts';
import { isNetwork, type Listener, type NetworkLoadBalancer, type TargetGroup } from './network-load-balancer.ts';
import { networkKinds } from './resources.ts';
import { type NlbSettings, readNlbSettings } from './settings.ts';

/** The resources that serve a Service by a network load balancer. What is not understood stays as it is. Pure. */
export function desireNetwork(given: DesireInput, parts: DesireParts): Desire {
  const own = given.own();
  const input: DesireInput = { ...given, own: () => own };
  const { desired } = input;
  const { service, attach } = desired;
  const standing = standingOf(input, isNetwork, frontKeys.network);
  const read = readNlbSettings(desired, { managed: parts.config.managedNlbSecurityGroups });
  const settings = permitted(read, desired, parts, standing);
  const hosts = hostsOf(input);
  const on = attach ? hosts.find(({ arn }) => arn === attach.id) : (standing.balancer ?? hosts[0]);
  const groups = new Map(ownOf<TargetGroup>(input, networkKinds.targetGroup).map(({ id, body }) => [id, body]));
  const standingOn = (port: number) =>
    ownOf<Listener>(input, networkKinds.listener).find(({ within, body }) => within === on?.arn && body.port === port)
      ?.body;
  const clusterId = parts.view.marks?.tags.id ?? '';
  const listenersWith = (probe: HealthProbe | undefined) =>
    desiredListeners(desired, settings, { clusterId, probe, standing: (port) => standingOn(port)?.protocol });
  const { healthProbe } = parts.config;
  let fromPorts = listenersWith(healthProbe ?? (standing.isAdopted ? { mode: 'ServiceNodePort' } : undefined));
  // What the classic controller made is judged by its own defaults, until a target group has to be replaced anyway.
  const names = new Set([...groups.values()].map(({ name }) => name));
  if (standing.isAdopted && !fromPorts.listeners.every(({ group }) => names.has(group.name)))
    fromPorts = listenersWith(healthProbe);
  const listeners = fromPorts.listeners.flatMap((one) => {
    const listener = standingOn(one.port);
    const there = listener && { listener, group: groups.get(listener.group ?? '') };
    return leaveUnchanged(one, there, settings, { service, clusterId }) ?? [];
  });
  const refusals: Refusal[] = [...settings.refusals, ...settings.notes];
  refusals.push(...refuseNonMembers(desired, parts), ...fromPorts.refusals);
  const context: Context = { input, settings, standing, listeners, parts, refusals };
  const wants = attach ? attachedWants(context, hosts) : ownWants(context, hosts);
  return { wants, refusals, remarks: settings.remarks };
}

/** Groups that the Service may not name count as unclear: what stands stays. */
function permitted(
  settings: NlbSettings,
  { owner, service }: DesiredLoadBalancer,
  { allowedGroups }: DesireParts,
  { balancer, groups }: Standing<NetworkLoadBalancer>,
): NlbSettings {
  const key = keys.securityGroups;
  const permissions = { allowed: allowedGroups, groups };
  const carried = balancer?.securityGroups ?? [];
  const judged = judgeGroups(key, settings.securityGroups, { owner, service }, permissions, carried);
  const unclear = judged.refusals.length === 0 ? settings.unclear : new Set([...settings.unclear, key]);
  const refusals = [...settings.refusals, ...judged.refusals];
  return { ...settings, unclear, refusals, remarks: [...settings.remarks, ...judged.remarks] };
}

/** Members that cannot be targets here. */
function refuseNonMembers({ members }: DesiredLoadBalancer, { idOf }: DesireParts): Refusal[] {
  return members
    .filter(({ providerID }) => idOf(providerID) === undefined)
    .map(({ node, providerID }) => {
      const message = `member ${node}: providerID ${JSON.stringify(providerID)} is no instance of EC2 in this region`;
      return { reason: 'Unsupported', message };
    });
}
