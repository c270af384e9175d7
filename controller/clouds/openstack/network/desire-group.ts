import { isIP } from 'node:net';
import type { Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import type { Features } from '../load-balancers/features.ts';
import { classicGroupDescription, ownerMark, securityGroupName, withMark } from '../load-balancers/names.ts';
import { usesHttp } from '../load-balancers/port-parts.ts';
import type { Settings } from '../load-balancers/settings.ts';
import type { GroupMemberSpec } from './group-member-kind.ts';
import type { NetworkFacts } from './network-facts.ts';
import { groupName, networkKinds } from './network-kinds.ts';
import { anywhere, groupSlot, type Ingress, type ServerPort, textOfRule } from './security-group.ts';
import type { SecurityGroupSpec } from './security-group-kind.ts';

export interface GroupContext {
  readonly input: DesireInput;
  /** Those of the Service that a listener serves. */
  readonly ports: DesireInput['desired']['ports'];
  /** Whether traffic to other ports may be shut out. */
  readonly mayClose: boolean;
  readonly settings: Pick<Settings, 'family' | 'placement' | 'monitor'>;
  readonly features: Features;
  readonly config: Pick<LoadBalancerConfig, 'manageSecurityGroups'>;
  readonly facts: NetworkFacts | undefined;
  /** Subnet of the VIP, where it is known. */
  readonly vipSubnetId: string | undefined;
  /** Server of this scope by providerID. */
  serverIdOf(providerID: string): string | undefined;
}

/**
 * The Service's own security group: ingress to its node ports from where the load balancer sends (the members' subnet;
 * with provider ovn the clients themselves), on every port of a member. Pure.
 */
export function desireGroup(context: GroupContext): readonly Want[] {
  const { input, config, settings } = context;
  const { desired } = input;
  if (!config.manageSecurityGroups) return [];
  const name = securityGroupName(desired.owner, desired.service);
  const rules = rulesFor(context);
  const spec: SecurityGroupSpec = {
    name,
    description: withMark(classicGroupDescription(desired), ownerMark(desired.owner)),
    rules,
    // A monitor that is not understood stays as it is, and has to reach the members.
    mayClose: context.mayClose && settings.monitor !== undefined,
  };
  const group: Want = {
    kind: networkKinds.group,
    key: 'main',
    slot: groupSlot(name),
    spec,
    summary: `security group ${name}`,
  };
  return [group, ...membersOf(context, rules !== undefined)];
}

/** The group on the ports of members. */
function membersOf({ input, serverIdOf }: GroupContext, mayChange: boolean): readonly Want[] {
  const { desired, found, own } = input;
  const standing = new Set(own().flatMap(({ kind, key }) => (kind === networkKinds.member && key ? [key] : [])));
  const addresses = new Set(desired.members.flatMap((member) => member.addresses));
  const servers = new Map(desired.members.map((member) => [serverIdOf(member.providerID), member]));
  return (found(networkKinds.serverPort) as readonly { readonly body: ServerPort }[]).flatMap(({ body }): Want[] => {
    const member = servers.get(body.serverId);
    const isMember = member !== undefined && body.addresses.some((one) => addresses.has(one));
    const want: Want<GroupMemberSpec> = {
      kind: networkKinds.member,
      key: body.id,
      needs: [groupName],
      spec: { port: body },
      summary: `the group on port ${body.id} of server ${body.serverId}`,
    };
    // Nothing is taken away while it is not known what should be there: of a Node without addresses, too.
    if (standing.has(body.id)) return isMember || !mayChange || member?.addresses.length === 0 ? [want] : [];
    return mayChange && isMember && body.isSecured ? [want] : [];
  });
}

/** Undefined while the subnet of the members cannot be seen. */
function rulesFor(context: GroupContext): readonly Ingress[] | undefined {
  const { input, ports, settings, features, facts, vipSubnetId } = context;
  const { sourceRanges, healthCheck } = input.desired;
  const { family, placement, monitor } = settings;
  const subnetId = placement?.memberSubnetId ?? placement?.subnetId ?? vipSubnetId;
  const subnet = facts?.subnets.find(({ id }) => id === subnetId)?.cidr;
  if (placement === undefined || (subnet === undefined && !features.layer4)) return undefined;
  const fitting = sourceRanges.filter((range) => isIP(range.split('/')[0]!) === (family === 'IPv6' ? 6 : 4));
  const clients = sourceRanges.length === 0 ? [anywhere(family)] : fitting;
  const rules = new Map<string, Ingress>();
  const add = (protocol: string, port: number, prefix: string) => {
    const rule: Ingress = { ethertype: family, protocol, from: port, to: port, prefix };
    rules.set(textOfRule(rule), rule);
  };
  for (const port of ports) {
    const { protocol, nodePort } = port;
    if (nodePort === 0) continue;
    for (const source of features.layer4 ? clients : [subnet!]) add(protocol.toLowerCase(), nodePort, source);
    const isHttp = usesHttp({ features }, port);
    if (monitor !== undefined && monitor !== 'none' && isHttp && subnet !== undefined)
      add('tcp', healthCheck.port, subnet);
  }
  return [...rules.values()];
}
