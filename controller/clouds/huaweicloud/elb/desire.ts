import { isIP } from 'node:net';
import { huaweicloud } from '../../../../common/provider-id/huaweicloud.ts';
import { type Desire, type Found, nameOf, type Want } from '../../../engine/resource.ts';
import { canonical } from '../../ip-address.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import { servedPorts, unsupported } from '../../served-ports.ts';
import { allAsItStands } from '../../standing.ts';
import { prefix } from '../annotations.ts';
import type { Options } from '../options.ts';
import type { BalancerSpec } from './balancers.ts';
import { type AddressDesire, desireAddress } from './desire-address.ts';
import { type Balancer, kindNames, listenerKey, listenerSlot, type Member, type Pool, type Shown } from './found.ts';
import { membershipsOf } from './group-members.ts';
import type { GroupSpec } from './groups.ts';
import type { PartSpec } from './parts.ts';
import type { PoolSpec } from './pools.ts';
import { type Settings, settingsOf } from './settings.ts';

export interface DesireOptions {
  readonly options: Options;
  /** `[Vpc] subnet-id`. */
  readonly subnet: string | undefined;
  /** Members are put into a security group. */
  readonly joins: boolean;
}

const main = nameOf({ kind: kindNames.balancer, key: 'main' });
const group = nameOf({ kind: kindNames.group, key: 'main' });

/** What serves a Service. Pure. */
export function desireOf(input: DesireInput, { options, subnet, joins }: DesireOptions): Desire {
  const { desired } = input;
  const settings = settingsOf(desired, options);
  const held = input.own();
  const standing = held.find(({ kind }) => kind === kindNames.balancer) as Found<Balancer> | undefined;
  const name = balancerName(desired, options);
  const { served, refusals } = servedPorts(desired);
  const unread = [...settings.problems, ...fieldProblems(desired, settings, standing)];
  refusals.push(...unread.map(unsupported));
  const address = desireAddress(input, settings, standing);
  refusals.push(...address.refusals);
  const balancer: Want<BalancerSpec> = {
    kind: kindNames.balancer,
    key: 'main',
    summary: `load balancer ${name}`,
    ...(address.front === 'vip' && { carriesAddress: true }),
    spec: balancerSpec(desired, settings, address, { name, subnet: settings.subnet ?? subnet }),
  };
  // What cannot be read changes nothing, and nothing goes.
  if (unread.length > 0 || served.length === 0 || address.isMissing)
    return { wants: allAsItStands(balancer, held), refusals, remarks: settings.remarks };
  const ranges = groupOf(desired, name, held);
  const parts = served.flatMap((port) => partsOf(port, input, settings, ranges));
  const memberships = joins ? membershipsOf(serversOf(desired)) : [];
  const wants = [balancer, ...address.wants, ...ranges, ...parts, ...memberships];
  const remarks = [...settings.remarks, ...(desired.families.length > 1 ? ['served by IPv4 alone'] : [])];
  return { wants, refusals, remarks };
}

/** As the classic controller names it. */
export function balancerName(
  { clusterName, service }: Pick<DesiredLoadBalancer, 'clusterName' | 'service'>,
  { businessName }: Options,
): string {
  return `k8s_service_${businessName ?? clusterName}_${service.replace('/', '_')}`.slice(0, 255);
}

function fieldProblems(
  { attach, address, families }: DesiredLoadBalancer,
  { id }: Settings,
  standing: Found | undefined,
): string[] {
  const shared = 'expected that of its own load balancer: none is shared on this cloud';
  return [
    ...(attach ? [`mooring.dev/load-balancer-id: ${JSON.stringify(attach.id)}, ${shared}`] : []),
    ...(id !== undefined && id !== standing?.id ? [`${prefix}id: ${JSON.stringify(id)}, ${shared}`] : []),
    ...(address ? [`spec.loadBalancerIP: ${JSON.stringify(address)}, expected none, or ${prefix}eip-id`] : []),
    ...(families.includes('IPv4') ? [] : ['spec.ipFamilies: IPv6, expected IPv4']),
  ];
}

function balancerSpec(
  { service, members }: DesiredLoadBalancer,
  { isShared, balancer, zones }: Settings,
  { front }: AddressDesire,
  { name, subnet }: { readonly name: string; readonly subnet: string | undefined },
): BalancerSpec {
  const near = [...new Set(members.map(({ zone }) => zone).filter((zone) => zone !== ''))].sort();
  return {
    isShared,
    service,
    front,
    subnet,
    fields: balancer,
    fixed: { guaranteed: !isShared },
    once: { name, ...(!isShared && { availability_zone_list: zones ?? near }) },
    near: members.flatMap((one) => addressOf(one.addresses) ?? []).slice(0, 5),
  };
}

/** Without ranges one that is there stays, and is not used. */
function groupOf({ service, sourceRanges }: DesiredLoadBalancer, name: string, held: readonly Found[]): Want[] {
  const spec: GroupSpec = { name, service, ranges: sourceRanges };
  const want: Want = { kind: kindNames.group, key: 'main', spec, summary: `IP group ${name}` };
  if (sourceRanges.length > 0) return [want];
  return held.some(({ kind }) => kind === kindNames.group) ? [{ ...want, leaveUnchanged: true }] : [];
}

/** Listener, pool and health check of one port. */
function partsOf(desiredPort: DesiredPort, input: DesireInput, settings: Settings, ranges: readonly Want[]): Want[] {
  const { desired } = input;
  const { port, protocol: transport } = desiredPort;
  const held = input.own();
  const protocol = settings.protocolOf(desiredPort);
  const inner = protocol.endsWith('HTTPS') ? 'HTTP' : protocol;
  const [, service = ''] = desired.service.split('/');
  const key = listenerKey(protocol, port);
  const ending = `_${protocol}_${port}`;
  const isOf = (kind: string, its: string) => held.find((one) => one.kind === kind && one.key === its);
  const poolKey = `${inner.toLowerCase()}/${port}`;
  const there = isOf(kindNames.pool, poolKey) as Found<Pool> | undefined;
  const ports = [{ port, protocol: transport }];
  // Weights have no effect there, so what drains would get new connections.
  const isHashed = (settings.algorithm ?? there?.body.wire['lb_algorithm']) === 'SOURCE_IP';
  const lasting = { members: desired.members.filter(({ draining }) => !draining) };
  const [ofRanges] = ranges;
  const used = ofRanges?.leaveUnchanged === true ? undefined : ofRanges;

  const pool: Want<PoolSpec> = {
    kind: kindNames.pool,
    key: poolKey,
    within: main,
    ports,
    summary: `pool of ${key}`,
    spec: {
      once: { name: `sg_${service.slice(0, 61 - ending.length)}${ending}`, protocol: inner },
      fields: {
        lb_algorithm: settings.algorithm ?? (there === undefined ? 'ROUND_ROBIN' : undefined),
        session_persistence: settings.persistenceOf(inner),
      },
      members: membersOf(desiredPort, isHashed ? lasting : desired, there),
      crossVpc: settings.crossVpc,
    },
  };
  const listener: Want<PartSpec> = {
    kind: kindNames.listener,
    key,
    within: main,
    slot: listenerSlot('{within}', key),
    ports,
    needs: [nameOf(pool), ...(used === undefined ? [] : [group])],
    summary: `listener ${key}`,
    spec: {
      once: { name: `${service}${ending}`.slice(0, 255), protocol_port: port },
      fixed: { protocol },
      fields: { ...settings.listenerOf(protocol), ...switchedOff(isOf(kindNames.listener, key), input, ofRanges) },
      links: { default_pool_id: nameOf(pool), ...(used !== undefined && { ipgroup: group }) },
    },
  };
  const balancer = held.find(({ kind }) => kind === kindNames.balancer);
  const isAdopted = balancer !== undefined && balancer.owner === undefined;
  const monitor: Want<PartSpec> = {
    kind: kindNames.monitor,
    key: poolKey,
    within: nameOf(pool),
    summary: `health check of ${key}`,
    spec: { fields: { ...settings.check, ...checkOf(inner, desired, isAdopted) } },
  };
  return [pool, listener, ...(settings.check === undefined ? [] : [monitor])];
}

/** Health checks of what the classic controller made look at the node port until something else changes. */
function checkOf(protocol: string, { healthCheck }: DesiredLoadBalancer, isAdopted: boolean): PartSpec['fields'] {
  if (protocol === 'UDP') return { type: 'UDP_CONNECT' };
  if (isAdopted) return { type: protocol };
  return { type: 'HTTP', monitor_port: healthCheck.port, url_path: healthCheck.path, expected_codes: '200' };
}

/** Without ranges the group of the Service is on the listener without effect; that of a person stays as it is. */
function switchedOff(listener: Found | undefined, { own }: DesireInput, ranges: Want | undefined): PartSpec['fields'] {
  const used = (listener?.body as Shown | undefined)?.wire['ipgroup'] as { readonly ipgroup_id?: string } | undefined;
  const isOurs = own().some(({ kind, id }) => kind === kindNames.group && id === used?.ipgroup_id);
  if (ranges?.leaveUnchanged !== true || !isOurs) return {};
  return { ipgroup: { ipgroup_id: used?.ipgroup_id, enable_ipgroup: false } };
}

/** Those that are known by their providerID alone stay, and are not added. */
function membersOf(
  { nodePort: port }: DesiredPort,
  { members }: Pick<DesiredLoadBalancer, 'members'>,
  there: Found<Pool> | undefined,
): readonly Member[] {
  const found = members.flatMap(({ providerID, addresses, draining }): Member[] => {
    const server = huaweicloud.parse(providerID)?.instanceId.toLowerCase();
    const known = there?.body.members.find((one) => one.server === server && one.port === port)?.address;
    const address = addresses.length === 0 ? known : addressOf(addresses);
    if (server === undefined || address === undefined) return [];
    return [{ id: '', address, port, weight: draining ? 0 : 1, server }];
  });
  return [...new Map(found.map((one) => [one.address, one])).values()];
}

/** Those that become members. */
function serversOf({ members }: DesiredLoadBalancer): string[] {
  const known = members.filter(({ addresses, draining }) => !draining && addressOf(addresses) !== undefined);
  return known.flatMap(({ providerID }) => huaweicloud.parse(providerID)?.instanceId.toLowerCase() ?? []);
}

function addressOf(addresses: readonly string[]): string | undefined {
  const address = addresses.find((one) => isIP(one) === 4);
  return address && canonical(address);
}
