import type { DesiredPort } from '../../load-balancers.ts';
import type { LoadBalancer, SecurityGroup } from './answer.ts';
import { classicGroupDescription, ownerMark, securityGroupName, withMark } from './names.ts';
import type { Pieces } from './observed.ts';
import { type NewRule, type OctaviaStep, stepOf } from './step.ts';
import { newMonitor, usesHttp, type Wanted } from './wanted.ts';

/**
 * The Service's own security group: ingress to its node ports from where the load balancer sends (the members' subnet; with provider ovn the clients themselves), on
 * every port of a member. Neutron's own egress rules stay. Additions before removals.
 */
export function planSecurityGroup(wanted: Wanted, pieces: Pieces, loadBalancer: LoadBalancer): OctaviaStep[] {
  const { config, subject, desired } = wanted;
  const { group } = pieces;
  if (!config.manageSecurityGroups) return group ? planGroupRemoval(pieces) : [];
  const steps: OctaviaStep[] = [];
  const name = securityGroupName(desired.owner, desired.service);
  if (!group) {
    const description = withMark(classicGroupDescription(desired), ownerMark(desired.owner));
    steps.push(
      stepOf(subject, name, `create security group ${name}`, { does: 'create security group', name, description }),
    );
  }
  const wantedRules = rulesFor(wanted, pieces, loadBalancer);
  // Nothing is taken away while it is not known what should be there.
  if (wantedRules === undefined) return steps;
  const ingress = (group?.rules ?? []).filter(({ direction }) => direction === 'ingress');
  const kept = new Set<string>();
  for (const rule of wantedRules) {
    const there = ingress.find(
      (one) =>
        !one.remoteGroup && textOfRule(rule) === [one.ethertype, one.protocol, one.from, one.to, one.prefix].join(' '),
    );
    if (there) kept.add(there.id);
    else {
      const summary = `let ${rule.prefix} in to ${rule.protocol} ${rule.port} by ${name}`;
      steps.push(stepOf(subject, name, summary, { does: 'create security group rule', group: group?.id, rule }));
    }
  }
  const addresses = new Set(desired.members.flatMap((member) => member.addresses));
  const servers = new Set(desired.members.map(({ providerID }) => wanted.serverIdOf(providerID)));
  const ofMember = (port: Pieces['ports'][number]) =>
    servers.has(port.serverId) && port.addresses.some((one) => addresses.has(one));
  const nameless = new Set(
    desired.members
      .filter((member) => member.addresses.length === 0)
      .map(({ providerID }) => wanted.serverIdOf(providerID)),
  );
  for (const port of pieces.ports) {
    const has = group !== undefined && port.groups.includes(group.id);
    if (has && !ofMember(port) && !nameless.has(port.serverId)) {
      const summary = `take ${name} off port ${port.id} of server ${port.serverId}`;
      steps.push(stepOf(subject, port.id, summary, { does: 'update port', id: port.id, remove: group.id }));
    }
    if (!has && port.secured && ofMember(port)) {
      const summary = `put ${name} on port ${port.id} of server ${port.serverId}`;
      steps.push(stepOf(subject, port.id, summary, { does: 'update port', id: port.id, add: group?.id ?? name }));
    }
  }
  for (const rule of ingress) {
    // A monitor that is not understood stays as it is, and has to reach the members.
    if (group === undefined || kept.has(rule.id) || wanted.settings.monitor === undefined) continue;
    const summary = `delete rule ${rule.protocol ?? 'any'} ${rule.from ?? ''} from ${rule.prefix ?? 'anywhere'} of ${name}`;
    steps.push(stepOf(subject, rule.id, summary, { does: 'delete security group rule', group: group.id, id: rule.id }));
  }
  return steps;
}

function textOfRule({ ethertype, protocol, port, prefix }: NewRule): string {
  return [ethertype, protocol, port, port, prefix].join(' ');
}

/** Undefined while the subnet of the members cannot be seen. */
function rulesFor(wanted: Wanted, pieces: Pieces, loadBalancer: LoadBalancer): NewRule[] | undefined {
  const { desired, settings, features } = wanted;
  const family = settings.family;
  const subnetId = settings.placement?.memberSubnetId ?? settings.placement?.subnetId ?? loadBalancer.vipSubnetId;
  const subnet = pieces.network.subnets.find(({ id }) => id === subnetId)?.cidr;
  const everybody = family === 'IPv6' ? '::/0' : '0.0.0.0/0';
  const fitting = desired.sourceRanges.filter((range) => range.includes(':') === (family === 'IPv6'));
  if (settings.placement === undefined || (subnet === undefined && !features.layer4)) return undefined;
  const sources = features.layer4 ? (desired.sourceRanges.length === 0 ? [everybody] : fitting) : [subnet!];
  const rules = new Map<string, NewRule>();
  const add = (protocol: NewRule['protocol'], port: number, prefix: string) => {
    const rule: NewRule = { ethertype: family, protocol, port, prefix };
    rules.set(textOfRule(rule), rule);
  };
  for (const port of desired.ports) {
    if (port.nodePort === 0) continue;
    for (const source of sources) add(lower(port), port.nodePort, source);
    const checked = newMonitor(wanted, port, loadBalancer.name) !== undefined && usesHttp(wanted, port);
    if (checked && subnet !== undefined) add('tcp', desired.healthCheck.port, subnet);
  }
  return [...rules.values()];
}

function lower({ protocol }: DesiredPort): NewRule['protocol'] {
  return protocol === 'TCP' ? 'tcp' : protocol === 'UDP' ? 'udp' : 'sctp';
}

/** Off every port first, since Neutron keeps a group that is in use. */
export function planGroupRemoval({
  subject,
  group,
  ports,
}: Pick<Pieces, 'subject' | 'group' | 'ports'>): OctaviaStep[] {
  if (group === undefined) return [];
  const { id, name } = group;
  return [
    ...ports
      .filter(({ groups }) => groups.includes(id))
      .map((port) =>
        stepOf(subject, port.id, `take ${name} off port ${port.id} of server ${port.serverId}`, {
          does: 'update port',
          id: port.id,
          remove: id,
        }),
      ),
    stepOf(subject, id, `delete security group ${name}`, { does: 'delete security group', id }),
  ];
}

/** Whether a group is this Service's: by its mark, or as the classic controller made it for exactly this one. */
export function isOurGroup(group: SecurityGroup, { owner, service, adopt }: Pieces['subject']): boolean {
  const mark = ownerMark(owner);
  if (group.description.endsWith(mark)) return true;
  if (adopt === undefined || group.name !== securityGroupName(owner, service)) return false;
  return group.description === classicGroupDescription({ service, clusterName: adopt.clusterName });
}
