import { isIP } from 'node:net';
import type { Refusal } from '../../../engine/resource.ts';
import type { DesiredLoadBalancer, DesiredMember, DesiredPort } from '../../load-balancers.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import type { Features } from './features.ts';
import { classicName, pieceName } from './names.ts';
import type { Pool } from './octavia-answer.ts';
import type { Settings } from './settings.ts';
import type { ListenerSpec, NewMember, NewMonitor, PoolSpec } from './specs.ts';
import { octaviaTags, ownedBy, ownerTagsOf, tag } from './tags.ts';

/** What one Service asks for, read once. */
export interface ServiceRequest {
  readonly desired: DesiredLoadBalancer;
  readonly settings: Settings;
  readonly features: Features;
  readonly config: LoadBalancerConfig;
  /** Server of this scope by providerID. */
  readonly serverIdOf: (providerID: string) => string | undefined;
}

/** Wire protocol of the listener for a port: TLS and HTTP are for TCP alone. */
export function listenerProtocol({ settings }: ServiceRequest, { protocol }: DesiredPort): string {
  if (protocol !== 'TCP') return protocol;
  if (settings.tlsRef) return 'TERMINATED_HTTPS';
  return settings.forwardedFor ? 'HTTP' : 'TCP';
}

export function poolProtocol(request: ServiceRequest, port: DesiredPort): string {
  const { proxyProtocol } = request.settings;
  const outer = listenerProtocol(request, port);
  if (port.protocol === 'TCP' && proxyProtocol !== undefined && proxyProtocol !== 'none') return proxyProtocol;
  return outer === 'TERMINATED_HTTPS' ? 'HTTP' : outer;
}

/** Tags of listeners and pools; the classic name lets the classic controller know its own. */
function partTags({ desired }: ServiceRequest, { protocol, port }: DesiredPort): string[] {
  return [...ownerTagsOf(desired.owner), classicName(desired), tag(octaviaTags.port, `${protocol}-${port}`)];
}

/** @param protocol of the listener that stands, or is to be made */
export function listenerSpec(
  request: ServiceRequest,
  port: DesiredPort,
  protocol: string,
  place: { readonly name: string; readonly pool: string },
): ListenerSpec {
  const { desired, settings, features } = request;
  const { allowedCidrs, timeouts, forwardedFor } = settings;
  const isHttp = protocol === 'HTTP' || protocol === 'TERMINATED_HTTPS';
  return {
    name: pieceName('listener', desired.ports.indexOf(port), place.name),
    protocol,
    port: port.port,
    pool: place.pool,
    connectionLimit: features.layer4 ? undefined : settings.connectionLimit,
    tlsRef: protocol === 'TERMINATED_HTTPS' ? settings.tlsRef : undefined,
    forwardedFor: isHttp && forwardedFor !== undefined ? protocol === 'HTTP' || forwardedFor : undefined,
    timeouts: timeouts === 'none' ? undefined : timeouts,
    allowedCidrs: allowedCidrs === 'unlimited' ? undefined : allowedCidrs,
    tags: partTags(request, port),
  };
}

export interface PoolPlace {
  /** Name of the load balancer. */
  readonly name: string;
  readonly protocol: string;
  readonly there: Pool | undefined;
  /** Of the members, where nothing names it. */
  readonly vipSubnetId: string | undefined;
}

export function poolSpec(request: ServiceRequest, port: DesiredPort, place: PoolPlace): PoolSpec {
  const { desired, settings } = request;
  const { name, protocol, there } = place;
  const sticky = desired.sessionAffinity;
  // On TCP the time belongs to the proxy; Octavia takes one for datagrams alone.
  const timeout = sticky && port.protocol !== 'TCP' ? sticky.timeoutSeconds : undefined;
  const { monitor, monitorPort } = checkOf(request, port, place);
  const keptPort = there?.members?.[0]?.monitorPort;
  return {
    name: pieceName('pool', desired.ports.indexOf(port), name),
    protocol,
    algorithm: settings.method,
    usualAlgorithm: settings.usualMethod,
    tags: partTags(request, port),
    persistence: sticky ? { type: 'SOURCE_IP', timeout } : undefined,
    members: newMembers(request, port, place, settings.monitor === undefined ? keptPort : monitorPort),
    monitor: settings.monitor === undefined ? undefined : (monitor ?? 'none'),
  };
}

/** The check of a port's members; undefined = none. */
export function newMonitor(request: ServiceRequest, port: DesiredPort, name: string): NewMonitor | undefined {
  const { desired, settings } = request;
  const { monitor } = settings;
  if (monitor === undefined || monitor === 'none' || !hasMonitor(request, port)) return undefined;
  const type = usesHttp(request, port) ? 'HTTP' : connectionCheck(port);
  const path = type === 'HTTP' ? desired.healthCheck.path : undefined;
  return { name: pieceName('monitor', desired.ports.indexOf(port), name), type, ...monitor, path };
}

/** Provider ovn checks TCP and UDP alone. */
function hasMonitor({ features }: ServiceRequest, { protocol }: DesiredPort): boolean {
  return !features.layer4 || protocol !== 'SCTP';
}

/**
 * A Node is asked over HTTP whether it serves, on a port of its own; where that is not possible, its node port has to
 * take a connection.
 */
export function usesHttp({ features }: Pick<ServiceRequest, 'features'>, { protocol }: DesiredPort): boolean {
  return features.httpMonitor && (protocol === 'TCP' || features.httpMonitorOnUdp);
}

function connectionCheck({ protocol }: DesiredPort): string {
  if (protocol === 'TCP') return 'TCP';
  return protocol === 'UDP' ? 'UDP-CONNECT' : 'SCTP';
}

/**
 * How the members of this pool are to be checked. The classic controller's monitors look at the node port unless
 * traffic is Local; where one of its making stands, it stays, since the members agree with it.
 */
function checkOf(
  request: ServiceRequest,
  port: DesiredPort,
  { name, there: pool }: PoolPlace,
): { readonly monitor: NewMonitor | undefined; readonly monitorPort: number | undefined } {
  const { desired } = request;
  const monitor = newMonitor(request, port, name);
  if (monitor === undefined) return { monitor, monitorPort: undefined };
  const there = pool?.monitor;
  const isHttp = desired.trafficPolicy === 'Local' && usesHttp(request, port);
  const classicType = isHttp ? 'HTTP' : connectionCheck(port);
  if (there && !ownedBy(there.tags, desired.owner) && there.type === classicType) {
    const monitorPort = isHttp ? desired.healthCheck.port : undefined;
    return { monitor: { ...monitor, type: classicType, path: there.path }, monitorPort };
  }
  return { monitor, monitorPort: monitor.type === 'HTTP' ? desired.healthCheck.port : undefined };
}

/** The members of one port. A Node known by its providerID alone stays as it is. */
function newMembers(
  request: ServiceRequest,
  port: DesiredPort,
  { there, vipSubnetId }: PoolPlace,
  monitorPort: number | undefined,
): readonly NewMember[] {
  const { desired, settings, features } = request;
  if (port.nodePort === 0) return [];
  const subnetId = settings.placement?.memberSubnetId ?? settings.placement?.subnetId ?? vipSubnetId;
  const members = new Map<string, NewMember>();
  for (const member of desired.members) {
    const { providerID, draining } = member;
    const address = addressOf(member, settings, there);
    if (address === undefined || request.serverIdOf(providerID) === undefined || members.has(address)) continue;
    const weight = draining && features.weights ? 0 : 1;
    const name = member.node || address;
    members.set(address, { name, address, port: port.nodePort, weight, monitorPort, subnetId, providerID });
  }
  return [...members.values()];
}

function isOfFamily(address: string, { family }: Settings): boolean {
  return isIP(address) === (family === 'IPv6' ? 6 : 4);
}

function addressOf(member: DesiredMember, settings: Settings, pool: Pool | undefined): string | undefined {
  if (member.addresses.length === 0)
    return pool?.members?.find(({ providerID }) => providerID === member.providerID)?.address;
  return member.addresses.find((address) => isOfFamily(address, settings));
}

/** Members that this load balancer cannot have, and ports that it cannot serve or check; the rest goes on. */
export function memberRefusals(request: ServiceRequest): Refusal[] {
  const { desired, settings, features, serverIdOf } = request;
  const refusals: Refusal[] = [];
  const refuse = (message: string, ports?: Refusal['ports']) =>
    refusals.push({ reason: 'Unsupported', message, ...(ports && { ports }) });
  for (const { node, providerID, addresses } of desired.members) {
    if (serverIdOf(providerID) === undefined)
      refuse(`member ${node}: providerID ${JSON.stringify(providerID)} is of another place`);
    else if (addresses.length > 0 && !addresses.some((address) => isOfFamily(address, settings)))
      refuse(`member ${node}: none of its addresses (${addresses.join(', ')}) is ${settings.family}`);
  }
  for (const port of desired.ports) {
    const shown = `${port.protocol} ${port.port}`;
    const field = 'spec.allocateLoadBalancerNodePorts';
    if (port.nodePort === 0)
      refuse(`${field}: port ${shown} has no node port, and Octavia reaches members by nothing else`, [port]);
    if (port.protocol === 'SCTP' && !features.sctp)
      refuse(`port ${shown}: Octavia API ${features.version} has no SCTP, expected v2.23 or newer`, [port]);
    if (typeof settings.monitor === 'object' && !hasMonitor(request, port))
      refuse(`port ${shown}: provider ${features.provider} has no health monitor for it; its members are not checked`);
  }
  return refusals;
}
