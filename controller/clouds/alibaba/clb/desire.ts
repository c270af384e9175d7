import ipaddr from 'ipaddr.js';
import { alibaba } from '../../../../common/provider-id/alibaba.ts';
import { type Desire, type Found, nameOf, type ResourceName, type Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { type DesiredLoadBalancer, type DesiredPort, ownerTags, portKey } from '../../load-balancers.ts';
import { servedPorts, unsupported } from '../../served-ports.ts';
import { allAsItStands } from '../../standing.ts';
import { prefix } from '../annotations.ts';
import { podOf } from '../interfaces.ts';
import type { ListSpec } from './access-lists.ts';
import { type BalancerSpec, takenBy } from './balancers.ts';
import {
  type Balancer,
  classicTags,
  type Group,
  groupName,
  kindNames,
  type Listener,
  listenerKey,
  listKey,
  type Server,
} from './found.ts';
import type { GroupSpec } from './groups.ts';
import { isHashedAnew, type ListenerSpec, portOfServer, standingFields } from './listeners.ts';
import { type Settings, settingsOf } from './settings.ts';
import { marksOf } from './tags.ts';

export interface DesireOptions {
  readonly clusterId: string;
  readonly isPublicRefused: boolean;
  readonly resourceGroup: string | undefined;
}

/** For the Service's status, instead of the address. */
export const hostnameTag = 'mooring.dev/hostname';
export const balancer: ResourceName = nameOf({ kind: kindNames.balancer, key: 'main' });
/** The longest time that the API takes. */
const longestPersistence = 3600;
/** Instead of no range: a list without one lets everybody in. */
const nobody = { ipv4: '127.0.0.1/32', ipv6: '::1/128' } as const;

/** What serves a Service. Pure. */
export function desireOf({ desired, own }: DesireInput, options: DesireOptions): Desire {
  const { owner, service } = desired;
  const settings = settingsOf(desired, options);
  const marks = marksOf(owner, service);
  const name = settings.name ?? desired.name;
  const main = mainOf(name);
  const unread = [...settings.problems, ...attachProblem(desired), ...rangesProblem(desired, settings)];
  const { served, refusals } = servedPorts(desired, !desired.ofPods);
  refusals.push(...fieldProblems(desired, settings).map(unsupported), ...unread.map(unsupported));
  const held = own();
  // What cannot be read changes nothing, and nothing goes.
  if (unread.length > 0 || served.length === 0)
    return { wants: allAsItStands(main, held), refusals, remarks: settings.remarks };

  const tags = {
    ...settings.tags,
    ...marks,
    [classicTags.name]: desired.name,
    [classicTags.cluster]: options.clusterId,
    ...(settings.hostname !== undefined && { [hostnameTag]: settings.hostname }),
  };
  const { fixed, settings: changes, atCreation } = settings;
  const spec: BalancerSpec = {
    name,
    isNamed: settings.name !== undefined,
    tags: cleared(tags, held),
    fixed,
    settings: changes,
    atCreation,
  };
  const version = desired.mayChangeAddress ? settings.version : (versionHeld(held) ?? settings.version);
  const list = listOf(desired, settings, { name, tags: marks, version });
  const groups = new Map(served.map((port) => [groupKeyOf(port, desired), port]));
  return {
    wants: [
      { ...main, spec },
      ...(list === undefined ? [] : [list]),
      ...[...groups].map(([key, port]) => groupOf(key, port, desired, options.clusterId, held)),
      ...served.map((port) => listenerOf(port, desired, settings, options.clusterId, list, held)),
    ],
    refusals,
    remarks: [...settings.remarks, ...chargeRemarks(changes, held), ...remarksOf(desired, version)],
  };
}

export function mainOf(name: string): Want {
  return {
    kind: kindNames.balancer,
    key: 'main',
    carriesAddress: true,
    spec: undefined,
    summary: `load balancer ${name}`,
  };
}

/** A hostname that is no longer asked for becomes empty, which says nothing. */
export function cleared(
  tags: Readonly<Record<string, string>>,
  held: readonly Found[],
): Readonly<Record<string, string>> {
  return mainHeld(held)?.body.tags[hostnameTag] && !(hostnameTag in tags) ? { ...tags, [hostnameTag]: '' } : tags;
}

export function attachProblem({ attach }: DesiredLoadBalancer): string[] {
  return attach === undefined
    ? []
    : [`mooring.dev/load-balancer-id: ${JSON.stringify(attach.id)}, expected none: none is shared on this cloud`];
}

/** Where annotations switch a list off, or name one without switching it on, everybody would be let in. */
function rangesProblem({ sourceRanges }: DesiredLoadBalancer, { hasList, usesList }: Settings): string[] {
  if (sourceRanges.length === 0 || !hasList || usesList) return [];
  return [`spec.loadBalancerSourceRanges: expected none beside ${prefix}acl-id and acl-status, which leave it unused`];
}

function fieldProblems({ address, sourceRanges }: DesiredLoadBalancer, { usesList }: Settings): string[] {
  const named = sourceRanges.length > 0 && usesList;
  return [
    ...(address ? [`spec.loadBalancerIP: ${JSON.stringify(address)}, expected none, or ${prefix}ip`] : []),
    ...(named ? [`spec.loadBalancerSourceRanges: expected none beside ${prefix}acl-id, which is used`] : []),
  ];
}

function chargeRemarks(settings: BalancerSpec['settings'], held: readonly Found[]): string[] {
  const taken = takenBy(mainHeld(held)?.body.wire, settings);
  const left = Object.entries(settings).flatMap(([action, params]) => (action in taken ? [] : Object.entries(params)));
  if (left.length === 0) return [];
  return [
    `without effect, because the load balancer is charged by use: ${left.map((one) => one.join(' ')).join(', ')}`,
  ];
}

function remarksOf(
  { sessionAffinity, families, sourceRanges }: DesiredLoadBalancer,
  version: Settings['version'],
): string[] {
  const timeout = sessionAffinity?.timeoutSeconds ?? 0;
  const foreign = sourceRanges.filter((range) => versionOf(range) !== version);
  return [
    ...(timeout > longestPersistence
      ? [`a client stays with its node for ${longestPersistence} s, not for ${timeout} s: the cloud takes no more`]
      : []),
    ...(families.length > 1 ? [`served by ${version} alone: a load balancer of this cloud has one address`] : []),
    ...(foreign.length > 0 ? [`source ranges that are not of ${version} are left out: ${foreign.join(', ')}`] : []),
  ];
}

function versionOf(range: string): 'ipv4' | 'ipv6' {
  return ipaddr.IPv4.isValidCIDR(range) ? 'ipv4' : 'ipv6';
}

function listOf(
  { sourceRanges }: DesiredLoadBalancer,
  { hasList }: Settings,
  { name, tags, version }: Pick<ListSpec, 'name' | 'tags' | 'version'>,
): Want<ListSpec> | undefined {
  if (sourceRanges.length === 0 || hasList) return undefined;
  const served = sourceRanges.filter((range) => versionOf(range) === version);
  const ranges = served.length > 0 ? served : [nobody[version]];
  return {
    kind: kindNames.list,
    key: listKey(version),
    summary: `access list ${name}`,
    spec: { name, tags: { ...tags, [ownerTags.retained]: '' }, version, ranges } satisfies ListSpec,
  };
}

function mainHeld(held: readonly Found[]): Found<Balancer> | undefined {
  return held.find(({ kind }) => kind === kindNames.balancer) as Found<Balancer> | undefined;
}

/** Of the address that stands. */
function versionHeld(held: readonly Found[]): Settings['version'] | undefined {
  const version = mainHeld(held)?.body.wire['AddressIPVersion'];
  return version === 'ipv4' || version === 'ipv6' ? version : undefined;
}

/** By its port of members, as the classic controller names groups: of pods the target port, which may be a name. */
export function groupKeyOf(
  { nodePort, port, protocol, targetPort = String(port) }: DesiredPort,
  { ofPods, ports }: Pick<DesiredLoadBalancer, 'ofPods' | 'ports'>,
): string {
  if (!ofPods) return String(nodePort);
  // One name may be two ports, of TCP and UDP.
  const isShared = ports.some((one) => one.protocol === 'TCP' && one.targetPort === targetPort);
  return protocol === 'UDP' && isShared && !/^\d+$/.test(targetPort) ? `${targetPort}-udp` : targetPort;
}

function groupOf(
  key: string,
  port: DesiredPort,
  desired: DesiredLoadBalancer,
  clusterId: string,
  held: readonly Found[],
): Want<GroupSpec> {
  const name = groupName(key, desired.service, clusterId);
  const there = held.find((one) => one.kind === kindNames.group && one.key === key) as Found<Group> | undefined;
  const spec: GroupSpec = { name, servers: serversFor(port, desired, there?.body.servers ?? []) };
  return { kind: kindNames.group, key, within: balancer, spec, summary: `server group ${name}` };
}

/** Nodes that are known by their providerID alone stay, and are not added. */
export function serversFor(
  desiredPort: DesiredPort,
  { members, ofPods }: Pick<DesiredLoadBalancer, 'members' | 'ofPods'>,
  there: readonly Server[],
): readonly Server[] {
  if (ofPods) return podServersFor(portKey(desiredPort), members, there);
  const { nodePort: port } = desiredPort;
  const servers = new Map<string, Server>();
  for (const { providerID, addresses, draining } of members) {
    const id = alibaba.parse(providerID)?.instanceId;
    const isThere = there.some((one) => one.id === id);
    if (id !== undefined && (addresses.length > 0 || isThere))
      servers.set(id, { id, port, weight: draining ? 0 : 100 });
  }
  return [...servers.values()];
}

function podServersFor(key: string, members: DesiredLoadBalancer['members'], there: readonly Server[]) {
  return members.flatMap(({ providerID, addresses, ports }): readonly Server[] => {
    const [target, pod] = [ports?.[key], podOf(providerID)];
    if (target !== undefined && pod !== undefined) return [{ ...pod, port: target, weight: 100 }];
    // Its interface is not known, or the Service has another port that its EndpointSlice does not show yet.
    return there.filter(({ other }) => other?.ip === addresses[0]);
  });
}

function listenerOf(
  desiredPort: DesiredPort,
  desired: DesiredLoadBalancer,
  settings: Settings,
  clusterId: string,
  list: Want<ListSpec> | undefined,
  held: readonly Found[],
): Want<ListenerSpec> {
  const { port, protocol: transport } = desiredPort;
  const protocol = settings.protocolOf(desiredPort);
  const key = listenerKey(protocol, port);
  const [namespace = '', name = ''] = desired.service.split('/');
  const group = nameOf({ kind: kindNames.group, key: groupKeyOf(desiredPort, desired) });
  const isAdopted = held.some((one) => one.kind === kindNames.balancer && one.owner === undefined);
  const formerList = held.find(({ kind }) => kind === kindNames.list)?.id;
  const there = held.find((one) => one.kind === kindNames.listener && one.key === key)?.body as Listener | undefined;
  // Clients that had affinity would go on having it.
  const wasHashed = protocol === 'udp' && !desired.sessionAffinity && there?.wire['Scheduler'] === 'sch';
  const asked = {
    ...(wasHashed && !isAdopted && { Scheduler: 'rr' }),
    ...fieldsOf(protocol, desired, settings, isAdopted),
  };
  // One that is made again has what no annotation says as it stood.
  const fields =
    there !== undefined && isHashedAnew(there, asked['Scheduler']) ? { ...keptOf(there, formerList), ...asked } : asked;
  const spec: ListenerSpec = {
    port,
    protocol,
    group,
    fields,
    list: list && nameOf(list),
    formerList,
    description: `k8s/${port}/${name}/${namespace}/${clusterId}`.slice(0, 80),
    forwardPort: protocol === 'http' ? settings.forwardPorts.get(port) : undefined,
  };
  return {
    kind: kindNames.listener,
    key,
    within: balancer,
    slot: `port {within} ${key}`,
    spec,
    needs: [group, ...(list === undefined ? [] : [nameOf(list)])],
    ports: [{ port, protocol: transport }],
    summary: `port ${key}`,
  };
}

/** But for an access list of the Service's source ranges, which the spec has itself. */
function keptOf(there: Listener, formerList: string | undefined): ListenerSpec['fields'] {
  const { AclId, AclType, AclStatus, Description: _, ...others } = standingFields(there);
  return AclId === undefined || AclId === formerList ? others : { ...others, AclId, AclType, AclStatus };
}

/** Health checks of what the classic controller made are left as they are until something else changes. */
function fieldsOf(
  protocol: string,
  { sessionAffinity, healthCheck, ofPods }: DesiredLoadBalancer,
  settings: Settings,
  isAdopted: boolean,
): ListenerSpec['fields'] {
  const chosen = settings.fieldsOf(protocol);
  const stays = Math.min(sessionAffinity?.timeoutSeconds ?? 0, longestPersistence);
  const affinity = protocol === 'tcp' ? { PersistenceTimeout: stays } : {};
  const hashed = protocol === 'udp' && sessionAffinity && !isAdopted ? { Scheduler: 'sch' } : {};
  const usual = { ...affinity, ...hashed, ...chosen };
  if (protocol === 'udp' || isAdopted) return usual;
  if (ofPods) {
    // Nodes were asked on a port that pods do not have.
    const atPod = { HealthCheckConnectPort: portOfServer, ...usual };
    if (!settings.asksKubeProxy) return chosen['HealthCheck'] === 'off' ? usual : atPod;
    // Only ready pods are members. Which HTTP request they answer is not known.
    return protocol === 'tcp' ? { HealthCheckType: 'tcp', ...atPod } : { HealthCheck: 'off', ...usual };
  }
  if (!settings.asksKubeProxy) return usual;
  return {
    HealthCheckConnectPort: healthCheck.port,
    HealthCheckURI: healthCheck.path,
    HealthCheckHttpCode: 'http_2xx',
    ...(protocol === 'tcp' ? { HealthCheckType: 'http' } : { HealthCheck: 'on' }),
    ...usual,
  };
}
