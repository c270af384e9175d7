import type { Refusal } from '../../../engine/resource.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import type { HealthProbe } from '../config-values.ts';
import { keys } from '../load-balancer-annotations.ts';
import { type TargetGroupKey, targetGroupName } from './names.ts';
import type { Health, Listener, TargetGroup } from './network-load-balancer.ts';
import type { NlbSettings } from './settings.ts';

export interface DesiredGroup extends TargetGroupKey {
  readonly name: string;
  readonly ipType: 'ipv4' | 'ipv6';
  readonly health: Health;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface DesiredListener {
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP' | 'TCP_UDP' | 'TLS';
  readonly certificate: string | undefined;
  /** Undefined = AWS's default, or whatever is there. */
  readonly policy: string | undefined;
  readonly group: DesiredGroup;
}

export interface DesiredListenersOptions {
  /** In the names of target groups; empty where there is none. */
  readonly clusterId: string;
  /** What the cloud config says; undefined = nothing: the contract's own check. */
  readonly probe: HealthProbe | undefined;
  /** Protocol of the listener that stands on a port; undefined where none of this Service does. */
  readonly standing: (port: number) => string | undefined;
}

/** Upstream's numbers; faster where a node's own health decides. */
const defaults = {
  Cluster: { healthy: 3, unhealthy: 3, interval: 30 },
  Local: { healthy: 2, unhealthy: 2, interval: 10 },
} as const;

/**
 * The listeners of a Service, one for each port number, with the target group of each; and the ports that cannot be
 * served.
 */
export function desiredListeners(
  desired: DesiredLoadBalancer,
  settings: NlbSettings,
  options: DesiredListenersOptions,
): { readonly listeners: readonly DesiredListener[]; readonly refusals: readonly Refusal[] } {
  const listeners: DesiredListener[] = [];
  const refusals: Refusal[] = [];
  const health = healthOf(desired, settings, options.probe);
  const refuse = ({ port, protocol }: DesiredPort, message: string) => {
    refusals.push({
      reason: 'Unsupported',
      message: `port ${port}/${protocol}: ${message}`,
      ports: [{ port, protocol }],
    });
  };
  const servable = desired.ports.filter((port) => {
    if (port.protocol === 'SCTP') refuse(port, 'SCTP is not possible, expected TCP or UDP');
    else if (port.nodePort === 0) refuse(port, 'it has no node port; members are reached by one');
    else if (port.protocol === 'UDP' && desired.families.includes('IPv6'))
      refuse(port, 'UDP is not possible with IPv6, expected spec.ipFamilies IPv4 alone');
    else return true;
    return false;
  });
  for (const number of new Set(servable.map(({ port }) => port))) {
    const same = servable.filter(({ port }) => port === number);
    const tcp = same.find(({ protocol }) => protocol === 'TCP');
    const udp = same.find(({ protocol }) => protocol === 'UDP');
    let both = tcp !== undefined && udp !== undefined;
    // What stands stays where the two cannot be served together.
    const isUdpFirst = tcp === undefined || (both && options.standing(number) === 'UDP');
    const other = isUdpFirst ? tcp : udp;
    let tls = tcp && tlsFor(tcp, settings);
    if (both && tls) {
      refuse(other!, `TLS ends on port ${number}, where UDP cannot be served too, see ${keys.sslPorts}`);
      both = false;
    } else if (both && tcp!.nodePort !== udp!.nodePort) {
      refuse(other!, `TCP and UDP of one port need one node port, not ${tcp!.nodePort} and ${udp!.nodePort}`);
      both = false;
    }
    const first = !both && isUdpFirst ? udp! : tcp!;
    if (first === udp) tls = undefined;
    const protocol = tls ? 'TLS' : both ? 'TCP_UDP' : (first.protocol as 'TCP' | 'UDP');
    const targetProtocol = tls ? (tls.toMembers ? 'TLS' : 'TCP') : protocol;
    const key = {
      port: number,
      nodePort: first.nodePort,
      protocol: targetProtocol,
      targetType: settings.targetType,
      health,
    };
    listeners.push({
      port: number,
      protocol,
      certificate: tls?.certificate,
      policy: tls?.policy,
      group: {
        ...key,
        name: targetGroupName(options.clusterId, desired.service, key),
        ipType: desired.families.includes('IPv4') ? 'ipv4' : 'ipv6',
        attributes: attributesOf(settings, targetProtocol),
      },
    });
  }
  return { listeners, refusals };
}

function tlsFor({ port, name }: DesiredPort, { tls }: NlbSettings): NlbSettings['tls'] {
  return tls && (tls.ports === undefined || tls.ports.has(String(port)) || tls.ports.has(name)) ? tls : undefined;
}

function healthOf(
  { trafficPolicy, healthCheck }: DesiredLoadBalancer,
  { health }: NlbSettings,
  probe: HealthProbe | undefined,
): Health {
  const { protocol, port, path } = health;
  const own = { protocol: 'HTTP', port: String(healthCheck.port), path: healthCheck.path };
  const plain = { protocol: 'TCP', port: 'traffic-port', path: '/' };
  const shared = trafficPolicy === 'Cluster' && probe?.mode === 'Shared' ? probe : undefined;
  const said = protocol !== undefined || port !== undefined || path !== undefined;
  // Where the annotations name a part of it, the rest is as the classic controller has it.
  const base = trafficPolicy === 'Cluster' && (said || probe?.mode === 'ServiceNodePort') ? plain : own;
  const chosen = shared
    ? { protocol: 'HTTP', port: String(shared.port), path: shared.path }
    : { protocol: protocol ?? base.protocol, port: port ?? base.port, path: path ?? base.path };
  const numbers = defaults[trafficPolicy];
  return {
    ...chosen,
    path: chosen.protocol === 'TCP' ? undefined : chosen.path,
    healthy: health.healthy ?? numbers.healthy,
    unhealthy: health.unhealthy ?? numbers.unhealthy,
    interval: health.interval ?? numbers.interval,
    timeout: health.timeout,
  };
}

/** AWS's own default, see "Client IP preservation". */
export function preservesClientIp(group: { readonly targetType: string; readonly protocol: string }): boolean {
  return group.targetType === 'instance' || group.protocol === 'UDP' || group.protocol === 'TCP_UDP';
}

/** Complete, so that an annotation that goes takes its effect with it. */
function attributesOf(settings: NlbSettings, protocol: string): Record<string, string> {
  const { targetType, preserveClientIp, proxyProtocol, unclear } = settings;
  if (unclear.has(keys.targetGroupAttributes)) return {};
  return {
    'preserve_client_ip.enabled': String(preserveClientIp ?? preservesClientIp({ targetType, protocol })),
    'proxy_protocol_v2.enabled': String(proxyProtocol),
  };
}

const frontKeys = [keys.sslCertificate, keys.sslPorts, keys.sslPolicy];
const groupKeys = [
  keys.targetType,
  keys.backendProtocol,
  keys.sslCertificate,
  keys.sslPorts,
  keys.healthProtocol,
  keys.healthPort,
  keys.healthPath,
  keys.healthyThreshold,
  keys.unhealthyThreshold,
  keys.healthTimeout,
  keys.healthInterval,
];

/** What stands on a port already. */
export interface StandingListener {
  readonly listener: Listener;
  readonly group: TargetGroup | undefined;
}

/** One that is there, in the words of those that are asked for. */
export function standingListener(
  { port, protocol, certificate }: Pick<Listener, 'port' | 'protocol' | 'certificate'>,
  { name, port: nodePort, protocol: toTargets, targetType, ipType, health }: TargetGroup,
): DesiredListener {
  return {
    port,
    protocol: protocol as DesiredListener['protocol'],
    certificate,
    policy: undefined,
    group: { name, port, nodePort, protocol: toTargets, targetType, ipType, health, attributes: {} },
  };
}

/**
 * What an annotation says that cannot be read stays as it is: TLS, and how members are reached and probed. Where
 * nothing stands yet, nothing is made in its place: undefined.
 */
export function leaveUnchanged(
  listener: DesiredListener,
  standing: StandingListener | undefined,
  { unclear }: NlbSettings,
  { service, clusterId }: { readonly service: string; readonly clusterId: string },
): DesiredListener | undefined {
  const isFrontUnclear = frontKeys.some((key) => unclear.has(key));
  const isGroupUnclear = groupKeys.some((key) => unclear.has(key));
  if (!isFrontUnclear && !isGroupUnclear) return listener;
  if (!standing) return undefined;
  const { protocol, certificate } = standing.listener;
  const front = isFrontUnclear && { protocol: protocol as DesiredListener['protocol'], certificate, policy: undefined };
  const there = isGroupUnclear ? standing.group : undefined;
  if (!there) return { ...listener, ...front };
  const { protocol: toTargets, targetType, health } = there;
  const group = { ...listener.group, protocol: toTargets, targetType, health, attributes: {} };
  const name = there.port === group.nodePort ? there.name : targetGroupName(clusterId, service, group);
  return { ...listener, ...front, group: { ...group, name } };
}
