import { nameHolder } from '../../access.ts';
import { type LoadBalancerPlan, ownerTags, type Refusal } from '../../load-balancers.ts';
import type { Listener, LoadBalancer, Pieces, TargetGroup } from './observed.ts';
import { ownListeners, servesOthers } from './observed.ts';
import type { Wanted } from './plan.ts';
import { type ListenerWish, type NlbStep, stepOf } from './step.ts';
import { planTargets, wantedTargets } from './targets.ts';
import { defaultAttributes, type Health, type WantedGroup, type WantedListener } from './wanted.ts';

/**
 * Listeners, target groups and targets. A target group that cannot be changed to what is wanted is replaced: the new one first, then all its targets, then the listener
 * turns to it, and at last the old one goes. Nobody waits for healthy targets in between: AWS probes none of a group that no listener uses, and sends to all of one in
 * which none is healthy yet.
 *
 * @param on undefined = the load balancer is still to be made
 */
export function planParts(
  wanted: Wanted,
  pieces: Pieces | undefined,
  on: LoadBalancer | undefined,
): LoadBalancerPlan<NlbStep> {
  const { subject, desired } = wanted;
  const groups = pieces?.groups ?? [];
  const steps: NlbStep[] = [];
  const refusals: Refusal[] = [];
  const later: NlbStep[] = [];
  const inUse = new Set<string>();
  const mine = new Set(on && pieces ? ownListeners(on, pieces, subject.owner).map(({ arn }) => arn) : []);
  for (const listener of wanted.listeners) {
    const there = on?.listeners.find(({ port }) => port === listener.port);
    if (there && !mine.has(there.arn)) {
      refusals.push(conflict(wanted, on!, there));
      continue;
    }
    const group = groups.find(({ name }) => name === listener.group.name);
    const members = wantedTargets(desired.members, listener.group);
    const targets = planTargets(subject, listener.group.name, members, group);
    steps.push(...planGroup(wanted, listener.group, group), ...targets.register);
    later.push(...targets.deregister);
    steps.push(...planListener(wanted, listener, there, group, on));
    inUse.add(listener.group.name);
  }
  const wantedPorts = new Set(desired.ports.map(({ port }) => port));
  const served = new Set(wanted.listeners.map(({ port }) => port));
  for (const listener of on?.listeners ?? []) {
    if (!mine.has(listener.arn) || served.has(listener.port)) continue;
    // What is asked for and cannot be told stays as it is.
    if (wantedPorts.has(listener.port)) {
      const kept = groups.find(({ arn }) => arn === listener.group);
      if (kept) inUse.add(kept.name);
      continue;
    }
    const { arn, protocol, port } = listener;
    const summary = `delete listener ${protocol} ${port} of ${on!.name}`;
    steps.push(stepOf(subject, arn, summary, { does: 'delete listener', arn }, on!.arn));
  }
  for (const group of groups) {
    const { name } = group;
    if (inUse.has(name) || (pieces && servesOthers(group, pieces))) continue;
    later.push(stepOf(subject, name, `delete target group ${name}`, { does: 'delete target group', group: name }));
  }
  return { steps: [...steps, ...later], refusals, waitMs: undefined };
}

function planGroup({ subject, tags }: Wanted, group: WantedGroup, there: TargetGroup | undefined): NlbStep[] {
  const { name, protocol, nodePort, targetType, health } = group;
  const steps: NlbStep[] = [];
  if (!there) {
    const summary = `create target group ${name}: ${targetType} ${protocol} ${nodePort}, probed by ${describe(health)}`;
    steps.push(stepOf(subject, name, summary, { does: 'create target group', group, tags }));
  } else if (!isSameHealth(health, there.health)) {
    const summary = `target group ${name}: probe from ${describe(there.health)} to ${describe(health)}`;
    steps.push(stepOf(subject, name, summary, { does: 'modify target group', group: name, health }));
  }
  const defaults = defaultAttributes(group);
  const attributes = Object.fromEntries(
    Object.entries(group.attributes).filter(([key, value]) => (there?.attributes[key] ?? defaults[key]) !== value),
  );
  const names = Object.entries(attributes).map(([key, value]) => `${key}=${value}`);
  if (names.length > 0) {
    const summary = `target group ${name}: ${names.join(', ')}`;
    steps.push(stepOf(subject, name, summary, { does: 'set target group attributes', group: name, attributes }));
  }
  return steps;
}

function planListener(
  { subject, tags }: Wanted,
  { port, protocol, certificate, policy, group: { name } }: WantedListener,
  there: Listener | undefined,
  group: TargetGroup | undefined,
  on: LoadBalancer | undefined,
): NlbStep[] {
  const listener: ListenerWish = { port, protocol, certificate, policy, group: name };
  if (!there) {
    const summary = `create listener ${protocol} ${port} to ${name}`;
    return [stepOf(subject, `${protocol} ${port}`, summary, { does: 'create listener', listener, tags }, on?.arn)];
  }
  const changes = [
    ...(there.protocol === protocol ? [] : [`${there.protocol} to ${protocol}`]),
    ...(group !== undefined && there.group === group.arn ? [] : [`to target group ${name}`]),
    ...(certificate === there.certificate || protocol !== 'TLS' ? [] : [`certificate ${certificate}`]),
    ...(policy === undefined || policy === there.policy || protocol !== 'TLS' ? [] : [`policy ${policy}`]),
  ];
  if (changes.length === 0) return [];
  const summary = `listener ${there.protocol} ${port}: ${changes.join(', ')}`;
  return [stepOf(subject, there.arn, summary, { does: 'modify listener', arn: there.arn, listener }, on?.arn)];
}

function conflict({ desired }: Wanted, on: LoadBalancer, { port, protocol, tags }: Listener): Refusal {
  const whose = nameHolder(tags[ownerTags.serviceName], desired);
  return {
    reason: 'Conflict',
    message: `port ${port}: load balancer ${on.name} has a listener ${protocol} ${port} of ${whose}`,
    ports: desired.ports
      .filter((each) => each.port === port)
      .map((each) => ({ port: each.port, protocol: each.protocol })),
  };
}

function isSameHealth(wanted: Health, there: Health): boolean {
  return (
    wanted.port === there.port &&
    (wanted.path === undefined || wanted.path === there.path) &&
    wanted.healthy === there.healthy &&
    wanted.unhealthy === there.unhealthy &&
    (wanted.timeout === undefined || wanted.timeout === there.timeout)
  );
}

function describe({ protocol, port, path, interval, healthy, unhealthy, timeout }: Health): string {
  const times = `every ${interval} s${timeout === undefined ? '' : `, ${timeout} s each`}`;
  return `${protocol} ${port}${path ?? ''} ${times}, ${healthy} up, ${unhealthy} down`;
}
