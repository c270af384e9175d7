import type { Found, Owner } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { optionalTexts, textsIn } from '../json.ts';
import { markIn } from '../load-balancers/names.ts';
import { networkKinds } from './network-kinds.ts';

/** What a rule lets in. */
export interface Ingress {
  readonly ethertype: string;
  readonly protocol: string | undefined;
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly prefix: string | undefined;
}

export interface GroupRule extends Ingress {
  readonly id: string;
  readonly direction: string;
  readonly isOfGroup: boolean;
}

export interface SecurityGroup {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly rules: readonly GroupRule[];
}

/** A port of a server. */
export interface ServerPort {
  readonly id: string;
  readonly serverId: string;
  readonly addresses: readonly string[];
  readonly groups: readonly string[];
  readonly isSecured: boolean;
  /** Undefined where this Neutron counts none. */
  readonly revision: number | undefined;
}

/** A security group on a port. */
export interface GroupMember {
  readonly group: string;
  readonly port: ServerPort;
}

export const groupFields = ['id', 'name', 'description', 'security_group_rules'] as const;
export const portFields = [
  'id',
  'device_id',
  'fixed_ips',
  'security_groups',
  'port_security_enabled',
  'revision_number',
] as const;

export function readGroup(item: AnswerFields): SecurityGroup {
  return {
    id: item.text('id'),
    name: item.optionalText('name') ?? '',
    description: item.optionalText('description') ?? '',
    rules: item.optionalObjects('security_group_rules').map(readRule),
  };
}

const protocolNames: Readonly<Record<string, string>> = { 6: 'tcp', 17: 'udp', 132: 'sctp' };

export function readRule(item: AnswerFields): GroupRule {
  const protocol = item.optionalText('protocol');
  return {
    id: item.text('id'),
    direction: item.text('direction'),
    ethertype: item.optionalText('ethertype') ?? '',
    protocol: protocolNames[protocol ?? ''] ?? protocol,
    from: item.optionalNumber('port_range_min'),
    to: item.optionalNumber('port_range_max'),
    prefix: item.optionalText('remote_ip_prefix'),
    isOfGroup: (item.optionalText('remote_group_id') ?? item.optionalText('remote_address_group_id')) !== undefined,
  };
}

export function readPort(item: AnswerFields): ServerPort {
  return {
    id: item.text('id'),
    serverId: item.optionalText('device_id') ?? '',
    addresses: textsIn(item, 'fixed_ips', 'ip_address'),
    groups: optionalTexts(item, 'security_groups'),
    isSecured: item.optionalFlag('port_security_enabled') !== false,
    revision: item.optionalNumber('revision_number'),
  };
}

/** Equal for rules that let in the same, as Neutron takes them. */
export function textOfRule({ ethertype, protocol, from, to, prefix = anywhere(ethertype) }: Ingress): string {
  return [ethertype, protocol, from, to, prefix].join(' ');
}

export function anywhere(ethertype: string): string {
  return ethertype === 'IPv6' ? '::/0' : '0.0.0.0/0';
}

/** The slot of the one that a Service has. */
export function groupSlot(name: string): string {
  return `${networkKinds.group} ${name}`;
}

export function foundGroup(body: SecurityGroup): Found<SecurityGroup> {
  const owner = ownerOf(body);
  return {
    kind: networkKinds.group,
    id: body.id,
    key: 'main',
    status: 'ready',
    body,
    // Names are not unique: one of others is not in the way.
    ...(owner !== undefined && { owner, slots: [groupSlot(body.name)] }),
    ...(owner === undefined && markIn(body.description) !== undefined && { retained: true }),
  };
}

function ownerOf({ description }: SecurityGroup): Owner | undefined {
  const mark = markIn(description);
  return mark?.service === undefined ? undefined : { cluster: mark.cluster, service: mark.service };
}

/** Whether this or the classic controller made it, for any Service. */
export function isOfServices({ name, description }: SecurityGroup): boolean {
  return (
    markIn(description)?.service !== undefined ||
    description.startsWith('Security Group for ') ||
    name.startsWith('lb-sg-')
  );
}

/** Ports of servers, and which of these groups are on them. */
export function foundPorts(ports: readonly ServerPort[], groups: readonly SecurityGroup[]): readonly Found[] {
  const shown = new Map(groups.filter(isOfServices).map((one) => [one.id, ownerOf(one)]));
  return ports
    .filter(({ serverId }) => serverId !== '')
    .flatMap((port) => [
      foundPort(port),
      ...port.groups.flatMap((id) => (shown.has(id) ? [foundMember({ group: id, port }, shown.get(id))] : [])),
    ]);
}

export function foundPort(body: ServerPort): Found<ServerPort> {
  return { kind: networkKinds.serverPort, id: body.id, status: 'ready', body };
}

/** @param owner of the group */
export function foundMember(body: GroupMember, owner: Owner | undefined): Found<GroupMember> {
  const { group, port } = body;
  return {
    kind: networkKinds.member,
    id: `${port.id} ${group}`,
    key: port.id,
    status: 'ready',
    body,
    ...(owner !== undefined && { owner }),
    // Neutron keeps a group that is on a port.
    refs: [{ role: 'group', kind: networkKinds.group, id: group }],
  };
}

/** A group whose mark was taken off by hand is its Service's by its name, while that Service has a marked VIP. */
export function linkGroups(found: readonly Found[]): readonly Found[] {
  const owners = new Map(
    found.flatMap(({ kind, owner }) => (kind === networkKinds.vipPort && owner ? [[owner.service, owner]] : [])),
  );
  const ofGroup = new Map<string, Owner>();
  for (const { kind, id, owner, retained, body } of found) {
    if (kind !== networkKinds.group || owner !== undefined || retained) continue;
    const named = owners.get(/^lb-sg-([0-9a-f-]{36})-/.exec((body as SecurityGroup).name)?.[1] ?? '');
    if (named !== undefined) ofGroup.set(id, named);
  }
  return found.map((one): Found => {
    const isMember = one.kind === networkKinds.member;
    if (!isMember && one.kind !== networkKinds.group) return one;
    const owner = ofGroup.get(isMember ? (one.body as GroupMember).group : one.id);
    return owner === undefined ? one : { ...one, owner };
  });
}
