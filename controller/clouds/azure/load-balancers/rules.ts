import type { ProbePropertiesFormat } from '@azure/arm-network';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import type { BalancerSpec, RuleSpec } from './balancer.ts';
import { ruleName } from './names.ts';
import type { Settings } from './settings.ts';

export interface RuleParts {
  readonly base: string;
  /** The one that an annotation names. */
  readonly subnet: string | undefined;
  readonly desired: DesiredLoadBalancer;
  readonly settings: Settings;
  /** Without those that are refused. */
  readonly ports: readonly DesiredPort[];
}

type Rules = Pick<BalancerSpec, 'rules' | 'probes'>;

/** One probe for all rules: the health check of kube-proxy, or of the Service. With an annotation one for each port. */
export function rulesOf(parts: RuleParts, disableOutboundSnat: boolean): Rules {
  if (parts.settings.probe.protocol !== undefined) return probedByPort(parts, disableOutboundSnat);
  return probedBy(healthCheckOf(parts), parts, disableOutboundSnat);
}

/** Those of the classic controller: a health check of its own where the traffic policy is Local, else each TCP port. */
export function classicRules(parts: RuleParts, disableOutboundSnat: boolean): Rules {
  const isLocal = parts.desired.trafficPolicy === 'Local';
  return isLocal ? rulesOf(parts, disableOutboundSnat) : probedByPort(parts, disableOutboundSnat);
}

type ProbeSpec = BalancerSpec['probes'][number];

function healthCheckOf({ base, subnet, desired, settings }: RuleParts): ProbeSpec {
  const { port, path } = desired.healthCheck;
  const { intervalInSeconds, probeThreshold } = settings.probe;
  const properties = { protocol: 'Http', port, requestPath: path, intervalInSeconds, probeThreshold };
  return { name: ruleName(base, subnet, 'TCP', port), properties };
}

function probedBy(probe: ProbeSpec, parts: RuleParts, disableOutboundSnat: boolean): Rules {
  return { rules: ruleList(parts, disableOutboundSnat, () => probe.name), probes: [probe] };
}

function probedByPort(parts: RuleParts, disableOutboundSnat: boolean): Rules {
  const { base, subnet, ports, settings } = parts;
  const { path, intervalInSeconds, probeThreshold } = settings.probe;
  const probes = ports
    .filter((port) => port.protocol === 'TCP')
    .slice(0, settings.isForAllPorts ? 1 : undefined)
    .map((one): ProbeSpec => {
      const { port, nodePort } = one;
      const protocol = probeProtocolOf(one, settings);
      const withPath = protocol === 'Tcp' ? {} : { requestPath: path };
      const numbers = { port: nodePort, intervalInSeconds, probeThreshold };
      const properties: ProbePropertiesFormat = { protocol, ...numbers, ...withPath };
      return { name: ruleName(base, subnet, 'TCP', port), properties };
    });
  const probeOf = ({ protocol, port }: DesiredPort) =>
    settings.isForAllPorts ? probes[0]?.name : protocol === 'TCP' ? ruleName(base, subnet, 'TCP', port) : undefined;
  return { rules: ruleList(parts, disableOutboundSnat, probeOf), probes };
}

/** As the classic controller has it: what the port says goes first. */
function probeProtocolOf({ appProtocol }: DesiredPort, { probe }: Settings): 'Tcp' | 'Http' | 'Https' {
  if (appProtocol === undefined) return probe.protocol ?? 'Tcp';
  return ({ http: 'Http', https: 'Https' } as const)[appProtocol.trim().toLowerCase()] ?? 'Tcp';
}

function ruleList(
  { base, subnet, desired, settings, ports }: RuleParts,
  disableOutboundSnat: boolean,
  probeOf: (port: DesiredPort) => string | undefined,
): readonly RuleSpec[] {
  const { idleMinutes, resetsTcp, hasFloatingIp, isForAllPorts } = settings;
  const loadDistribution = desired.sessionAffinity === undefined ? 'Default' : 'SourceIP';
  return ports.slice(0, isForAllPorts ? 1 : undefined).map((one): RuleSpec => {
    const { protocol, port, nodePort } = one;
    const reset = protocol === 'TCP' || isForAllPorts ? { enableTcpReset: resetsTcp } : {};
    const numbers = isForAllPorts ? [0, 0] : [port, hasFloatingIp ? port : nodePort];
    return {
      ...{ name: ruleName(base, subnet, protocol, port), probe: probeOf(one) },
      properties: {
        ...{
          protocol: isForAllPorts ? 'All' : protocol === 'TCP' ? 'Tcp' : 'Udp',
          loadDistribution,
          disableOutboundSnat,
        },
        ...{ frontendPort: numbers[0]!, backendPort: numbers[1]!, idleTimeoutInMinutes: idleMinutes },
        ...{ enableFloatingIP: hasFloatingIp, ...reset },
      },
    };
  });
}
