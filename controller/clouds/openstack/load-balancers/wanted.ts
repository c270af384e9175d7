import { isIP } from 'node:net';
import {
  type DesiredLoadBalancer,
  type DesiredMember,
  type DesiredPort,
  ownerTags,
  type Refusal,
} from '../../load-balancers.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import type { Monitor, Pool } from './answer.ts';
import type { Features } from './features.ts';
import { classicName, pieceName } from './names.ts';
import type { Subject } from './observed.ts';
import type { Settings } from './settings.ts';
import type { NewListener, NewMember, NewMonitor, NewPool } from './step.ts';
import { octaviaTags, ownedBy, ownerTagsOf, tag } from './tags.ts';

/** What one Service wants, read once for a plan. */
export interface Wanted {
  readonly desired: DesiredLoadBalancer;
  readonly settings: Settings;
  readonly features: Features;
  readonly config: LoadBalancerConfig;
  readonly subject: Subject;
  /** Server of this scope by providerID. */
  readonly serverIdOf: (providerID: string) => string | undefined;
}

/** Wire protocol of the listener for a port: TLS and HTTP are for TCP alone. */
export function listenerProtocol({ settings }: Wanted, { protocol }: DesiredPort): string {
  if (protocol !== 'TCP') return protocol;
  if (settings.tlsRef) return 'TERMINATED_HTTPS';
  return settings.forwardedFor ? 'HTTP' : 'TCP';
}

export function poolProtocol(wanted: Wanted, port: DesiredPort): string {
  const { proxyProtocol } = wanted.settings;
  const outer = listenerProtocol(wanted, port);
  if (port.protocol === 'TCP' && proxyProtocol !== undefined && proxyProtocol !== 'none') return proxyProtocol;
  return outer === 'TERMINATED_HTTPS' ? 'HTTP' : outer;
}

/** Which transport a listener takes from its port number; two of one transport cannot have the same number. */
export function transportOf(protocol: string): DesiredPort['protocol'] {
  return protocol === 'UDP' || protocol === 'SCTP' ? protocol : 'TCP';
}

export function portTag({ protocol, port }: Pick<DesiredPort, 'protocol' | 'port'>): string {
  return tag(octaviaTags.port, `${protocol}-${port}`);
}

/** Tags of listeners and pools; the classic name lets the classic controller know its own. */
export function pieceTags({ desired }: Wanted, port: DesiredPort): string[] {
  return [...ownerTagsOf(desired.owner), classicName(desired), portTag(port)];
}

export function loadBalancerTags(desired: DesiredLoadBalancer): string[] {
  return [...ownerTagsOf(desired.owner), tag(ownerTags.serviceName, desired.service), classicName(desired)];
}

export function newListener(wanted: Wanted, port: DesiredPort, loadBalancerName: string): NewListener {
  const { desired, settings } = wanted;
  const { allowedCidrs, timeouts } = settings;
  const protocol = listenerProtocol(wanted, port);
  return {
    name: pieceName('listener', desired.ports.indexOf(port), loadBalancerName),
    protocol,
    port: port.port,
    connectionLimit: wanted.features.layer4 ? undefined : settings.connectionLimit,
    tlsRef: protocol === 'TERMINATED_HTTPS' ? settings.tlsRef : undefined,
    forwardedFor: protocol === 'HTTP' || (protocol === 'TERMINATED_HTTPS' && settings.forwardedFor === true),
    timeouts: timeouts === 'none' ? undefined : timeouts,
    allowedCidrs: allowedCidrs === 'unlimited' ? undefined : allowedCidrs,
    tags: pieceTags(wanted, port),
  };
}

export function newPool(wanted: Wanted, port: DesiredPort, loadBalancerName: string): NewPool {
  const { desired, settings } = wanted;
  const sticky = desired.sessionAffinity;
  return {
    name: pieceName('pool', desired.ports.indexOf(port), loadBalancerName),
    protocol: poolProtocol(wanted, port),
    algorithm: settings.method ?? wanted.config.method,
    persistence: sticky ? 'SOURCE_IP' : undefined,
    // On TCP the time belongs to the proxy; Octavia takes one for datagrams alone.
    persistenceTimeout: sticky && port.protocol !== 'TCP' ? sticky.timeoutSeconds : undefined,
    tags: pieceTags(wanted, port),
  };
}

/** The check of a port's members; undefined = none. */
export function newMonitor(wanted: Wanted, port: DesiredPort, loadBalancerName: string): NewMonitor | undefined {
  const { desired, settings } = wanted;
  const { monitor } = settings;
  if (monitor === undefined || monitor === 'none') return undefined;
  const type = usesHttp(wanted, port) ? 'HTTP' : connectionCheck(port);
  return {
    name: pieceName('monitor', desired.ports.indexOf(port), loadBalancerName),
    type,
    ...monitor,
    path: type === 'HTTP' ? desired.healthCheck.path : undefined,
  };
}

/** A Node is asked over HTTP whether it serves, on a port of its own; where that is not possible, its node port has to take a connection. */
export function usesHttp({ features }: Pick<Wanted, 'features'>, { protocol }: DesiredPort): boolean {
  return features.httpMonitor && (protocol === 'TCP' || features.httpMonitorOnUdp);
}

function connectionCheck({ protocol }: DesiredPort): string {
  if (protocol === 'TCP') return 'TCP';
  return protocol === 'UDP' ? 'UDP-CONNECT' : 'SCTP';
}

/**
 * What the classic controller would have made here. Its monitors look at the node port unless traffic is Local; where one of its making stands, it stays, since the
 * members agree with it.
 */
export function classicCheck(
  wanted: Wanted,
  port: DesiredPort,
): { readonly type: string; readonly monitorPort: number | undefined } {
  if (wanted.desired.trafficPolicy === 'Local') {
    const http = usesHttp(wanted, port);
    return {
      type: http ? 'HTTP' : connectionCheck(port),
      monitorPort: http ? wanted.desired.healthCheck.port : undefined,
    };
  }
  return { type: connectionCheck(port), monitorPort: undefined };
}

/** How the members of this pool are to be checked: as we would, or as the classic controller did where its work stands. */
export function checkOf(
  wanted: Wanted,
  port: DesiredPort,
  pool: Pool | undefined,
  loadBalancerName: string,
): { readonly monitor: NewMonitor | undefined; readonly monitorPort: number | undefined } {
  const monitor = newMonitor(wanted, port, loadBalancerName);
  if (monitor === undefined) return { monitor, monitorPort: undefined };
  const there = pool?.monitor;
  if (there && !ownedBy(there.tags, wanted.subject.owner)) {
    const classic = classicCheck(wanted, port);
    if (there.type === classic.type) {
      return { monitor: { ...monitor, type: classic.type, path: there.path }, monitorPort: classic.monitorPort };
    }
  }
  return { monitor, monitorPort: monitor.type === 'HTTP' ? wanted.desired.healthCheck.port : undefined };
}

export function sameMonitor(there: Monitor, wanted: NewMonitor): boolean {
  return (
    there.delay === wanted.delay &&
    there.timeout === wanted.timeout &&
    there.maxRetries === wanted.maxRetries &&
    there.maxRetriesDown === wanted.maxRetriesDown &&
    (wanted.type !== 'HTTP' || there.path === wanted.path)
  );
}

/** The members of one port. A Node known by its providerID alone stays as it is. */
export function newMembers(
  wanted: Wanted,
  port: DesiredPort,
  monitorPort: number | undefined,
  pool: Pool | undefined,
): readonly NewMember[] {
  const { desired, settings } = wanted;
  if (port.nodePort === 0) return [];
  const subnetId = settings.placement?.memberSubnetId ?? settings.placement?.subnetId;
  const members: NewMember[] = [];
  const taken = new Set<string>();
  for (const member of desired.members) {
    const address = addressOf(member, settings, pool);
    if (address === undefined || wanted.serverIdOf(member.providerID) === undefined || taken.has(address)) continue;
    taken.add(address);
    members.push({
      name: member.node || address,
      address,
      port: port.nodePort,
      weight: member.draining && wanted.features.weights ? 0 : 1,
      monitorPort,
      subnetId,
      providerID: member.providerID,
    });
  }
  return members;
}

function addressOf(member: DesiredMember, { family }: Settings, pool: Pool | undefined): string | undefined {
  if (member.addresses.length === 0) {
    return pool?.members?.find(({ providerID }) => providerID === member.providerID)?.address;
  }
  return member.addresses.find((address) => isIP(address) === (family === 'IPv6' ? 6 : 4));
}

/** Members that this load balancer cannot have, and ports that it cannot serve; the rest goes on. */
export function memberRefusals(wanted: Wanted): Refusal[] {
  const { desired, settings } = wanted;
  const refusals: Refusal[] = [];
  const unsupported = (message: string): Refusal => ({ reason: 'Unsupported', message });
  for (const { node, providerID, addresses } of desired.members) {
    if (wanted.serverIdOf(providerID) === undefined) {
      refusals.push(unsupported(`member ${node}: providerID ${JSON.stringify(providerID)} is of another place`));
    } else if (
      addresses.length > 0 &&
      !addresses.some((address) => isIP(address) === (settings.family === 'IPv6' ? 6 : 4))
    ) {
      refusals.push(
        unsupported(`member ${node}: none of its addresses (${addresses.join(', ')}) is ${settings.family}`),
      );
    }
  }
  for (const port of desired.ports) {
    const shown = `${port.protocol} ${port.port}`;
    if (port.nodePort === 0) {
      const message = `spec.allocateLoadBalancerNodePorts: port ${shown} has no node port, and Octavia reaches members by nothing else`;
      refusals.push({ ...unsupported(message), ports: [port] });
    }
    if (port.protocol === 'SCTP' && !wanted.features.sctp) {
      const message = `port ${shown}: Octavia API ${wanted.features.version} has no SCTP, expected v2.23 or newer`;
      refusals.push({ ...unsupported(message), ports: [port] });
    }
  }
  return refusals;
}
