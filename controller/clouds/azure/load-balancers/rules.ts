import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import type { BalancerSpec, RuleSpec } from './balancer.ts';
import { type RuleNaming, ruleName } from './names.ts';
import type { Settings } from './settings.ts';

export interface RuleParts {
  readonly naming: RuleNaming;
  readonly desired: DesiredLoadBalancer;
  readonly settings: Settings;
  /** Without those that are refused. */
  readonly ports: readonly DesiredPort[];
}

type Rules = Pick<BalancerSpec, 'rules' | 'probes'>;

/**
 * One probe for all rules: the health check of kube-proxy, or of the Service. With annotations that say so one for each
 * TCP port.
 */
export function rulesOf(parts: RuleParts, disableOutboundSnat: boolean): Rules {
  const { settings } = parts;
  const isOwn = ({ port }: DesiredPort) =>
    settings.probe.protocol !== undefined || settings.ports.get(port)?.probe !== undefined;
  const isByPort = settings.probe.protocol !== undefined && parts.desired.trafficPolicy !== 'Local';
  return probedRules(parts, disableOutboundSnat, isOwn, isByPort ? undefined : healthCheckOf(parts));
}

/** Those of the classic controller: a health check of its own where the traffic policy is Local, else each TCP port. */
export function classicRules(parts: RuleParts, disableOutboundSnat: boolean): Rules {
  const isLocal = parts.desired.trafficPolicy === 'Local';
  return probedRules(parts, disableOutboundSnat, () => true, isLocal ? healthCheckOf(parts) : undefined);
}

type ProbeSpec = BalancerSpec['probes'][number];

function healthCheckOf({ naming, desired, settings }: RuleParts): ProbeSpec {
  const { port, path } = desired.healthCheck;
  const { intervalInSeconds, probeThreshold } = settings.probe;
  const name = ruleName(naming, 'TCP', port);
  return { name, properties: { protocol: 'Http', port, requestPath: path, intervalInSeconds, probeThreshold } };
}

/** @param isOwn of a TCP port: it has a probe of its own @param usual of the others */
function probedRules(
  parts: RuleParts,
  disableOutboundSnat: boolean,
  isOwn: (port: DesiredPort) => boolean,
  usual: ProbeSpec | undefined,
): Rules {
  const { desired, settings } = parts;
  const ports = parts.ports.filter(({ port }) => settings.ports.get(port)?.hasRule !== false);
  const hasOwn = (one: DesiredPort) => {
    // Nodes without endpoints answer at their node ports, too.
    const isPossible = desired.trafficPolicy !== 'Local' || settings.ports.get(one.port)?.probe?.port !== undefined;
    return one.protocol === 'TCP' && isPossible && isOwn(one);
  };
  const probeOf = (one: DesiredPort): ProbeSpec | undefined => {
    if (settings.ports.get(one.port)?.hasProbe === false) return undefined;
    if (lacksNodePort(parts, one)) return healthCheckOf(parts);
    return hasOwn(one) ? portProbe(one, parts) : usual;
  };
  const first = settings.isForAllPorts ? (ports.find(hasOwn) ?? ports[0]) : undefined;
  const shown = settings.isForAllPorts ? ports.slice(0, 1) : ports;
  const probed = shown.map((one) => [one, probeOf(first ?? one)] as const);
  const probes = new Map(probed.flatMap(([, probe]) => (probe === undefined ? [] : [[probe.name, probe]])));
  const names = new Map(probed.map(([one, probe]) => [one, probe?.name]));
  return { rules: ruleList(parts, shown, disableOutboundSnat, (one) => names.get(one)), probes: [...probes.values()] };
}

/** It is to be probed at its node port, and has none. */
export function lacksNodePort({ desired, settings }: RuleParts, { protocol, port, nodePort }: DesiredPort): boolean {
  const { probe } = settings.ports.get(port) ?? {};
  const isAsked = (settings.probe.protocol ?? probe) !== undefined && probe?.port === undefined;
  return isAsked && protocol === 'TCP' && nodePort === 0 && desired.trafficPolicy !== 'Local';
}

/** As the classic controller has it: what is said of the port goes before what is said of all. */
function portProbe(one: DesiredPort, { naming, settings }: RuleParts): ProbeSpec {
  const given = settings.ports.get(one.port)?.probe;
  const { path, intervalInSeconds, probeThreshold } = { ...settings.probe, ...given };
  const protocol = given?.protocol ?? protocolOf(one) ?? settings.probe.protocol ?? 'Tcp';
  return {
    name: ruleName(naming, 'TCP', one.port),
    properties: {
      protocol,
      port: given?.port ?? one.nodePort,
      intervalInSeconds,
      probeThreshold,
      requestPath: protocol === 'Tcp' ? undefined : path,
    },
  };
}

/** Any other word counts as TCP. */
function protocolOf({ appProtocol }: DesiredPort): 'Tcp' | 'Http' | 'Https' | undefined {
  if (appProtocol === undefined) return undefined;
  return ({ http: 'Http', https: 'Https' } as const)[appProtocol.trim().toLowerCase()] ?? 'Tcp';
}

function ruleList(
  { naming, desired, settings }: RuleParts,
  ports: readonly DesiredPort[],
  disableOutboundSnat: boolean,
  probeOf: (port: DesiredPort) => string | undefined,
): readonly RuleSpec[] {
  const { idleMinutes, resetsTcp, hasFloatingIp, isForAllPorts } = settings;
  const loadDistribution = desired.sessionAffinity === undefined ? 'Default' : 'SourceIP';
  return ports.map((one): RuleSpec => {
    const { protocol, port, nodePort } = one;
    return {
      name: ruleName(naming, protocol, port),
      probe: probeOf(one),
      properties: {
        protocol: isForAllPorts ? 'All' : protocol === 'TCP' ? 'Tcp' : 'Udp',
        loadDistribution,
        disableOutboundSnat,
        frontendPort: isForAllPorts ? 0 : port,
        backendPort: isForAllPorts ? 0 : hasFloatingIp ? port : nodePort,
        idleTimeoutInMinutes: idleMinutes,
        enableFloatingIP: hasFloatingIp,
        enableTcpReset: protocol === 'TCP' || isForAllPorts ? resetsTcp : undefined,
      },
    };
  });
}
