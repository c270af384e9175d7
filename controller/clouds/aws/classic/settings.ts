import type { Refusal } from '../../../engine/resource.ts';
import { numberIn } from '../../annotation-reader.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import { readAnnotations } from '../annotation-values.ts';
import type { AwsConfig } from '../config.ts';
import { keys } from '../load-balancer-annotations.ts';
import { mostGroups } from '../security-groups/traffic-group.ts';
import type { Attributes, HealthCheck, Listener } from './classic-load-balancer.ts';

export type ClassicSettings = ReturnType<typeof readClassicSettings>;

export type ClassicConfig = Pick<
  AwsConfig,
  'healthProbe' | 'elbSecurityGroup' | 'disableSecurityGroupIngress' | 'subnetId'
>;

const portOf = numberIn(1, 65_535);

/** What is spoken in front of what is spoken to the members, where TLS ends. */
const frontProtocols: Readonly<Record<string, string>> = { https: 'HTTPS', http: 'HTTPS', ssl: 'SSL', tcp: 'SSL' };

const only = 'of a network load balancer only';

/**
 * The settings that a Service desires of its classic load balancer. An invalid value becomes a refusal with annotation,
 * value and the values possible, and is undefined: that part stays as it is. Pure.
 */
export function readClassicSettings(desired: DesiredLoadBalancer, config: ClassicConfig) {
  const { annotations } = desired;
  const values = readAnnotations(annotations);
  const { refusals, remarks, text, refuse, flag, whole } = values;
  const notes: Refusal[] = [];
  const note = (message: string, ports?: readonly DesiredPort[]) =>
    notes.push({
      reason: 'Unsupported',
      message,
      ...(ports && { ports: ports.map(({ port, protocol }) => ({ port, protocol })) }),
    });
  refuseFields();
  const served = servedPorts();
  const protocol = text(keys.backendProtocol);
  const isProtocolIgnored =
    text(keys.sslCertificate) === undefined && protocol !== undefined && frontProtocols[protocol] === undefined;
  const backend = isProtocolIgnored ? undefined : protocol?.toLowerCase();
  if (isProtocolIgnored)
    values.passOver(keys.backendProtocol, 'no protocol in small letters: listeners stay, and new ones speak TCP');
  else if (backend !== undefined && frontProtocols[backend] === undefined)
    refuse(keys.backendProtocol, 'expected http, https, ssl or tcp');
  const listeners = readListeners();
  const health = readHealth(config.healthProbe);
  const proxy = text(keys.proxyProtocol);
  if (proxy !== undefined && proxy !== '*') refuse(keys.proxyProtocol, 'expected * (all ports), or no annotation');

  const instead = values.groups(keys.securityGroups);
  return {
    internal: values.internal(),
    /** Ids or Name tags; empty = discovered. */
    subnets: values.subnets(),
    /** Instead of a group of its own. */
    securityGroups: instead,
    extraSecurityGroups: readExtraGroups(),
    listeners,
    /** What is spoken to the members is not understood: listeners without TLS keep their protocol. */
    isProtocolIgnored,
    /** Name of a predefined security policy. */
    sslPolicy: text(keys.sslPolicy),
    proxyProtocol: proxy === undefined ? false : proxy === '*' ? true : undefined,
    attributes: readAttributes(),
    health,
    /** As the classic controller would have it, where it differs: what it made is as good. */
    classicHealth: config.healthProbe === undefined ? readHealth({ mode: 'ServiceNodePort' }) : undefined,
    tags: values.tags(),
    /** Something else than what was meant would be made: nothing is made, what is there is kept up in the rest. */
    refusals: unrepeated(refusals),
    /** What is made all the same is what was meant, without these. */
    notes,
    /** Values that the classic controller passes over without a word: so does this, and says it. */
    remarks,
  };

  function readExtraGroups(): readonly string[] | undefined {
    const extra = values.groups(keys.extraSecurityGroups);
    const first = instead?.length ? instead : [config.elbSecurityGroup ?? 'its own'];
    if (new Set([...first, ...(extra ?? [])]).size <= mostGroups) return extra;
    return refuse(keys.extraSecurityGroups, `expected at most ${mostGroups} groups with ${first.join(', ')}`);
  }

  function refuseFields(): void {
    const refuseField = (message: string) => refusals.push({ reason: 'Unsupported', message });
    if (desired.sessionAffinity !== undefined) {
      refuseField('spec.sessionAffinity: ClientIP is not possible with load balancers of AWS, expected None');
    }
    if (desired.address !== undefined) {
      const field = `spec.loadBalancerIP: ${JSON.stringify(desired.address)}`;
      refuseField(
        `${field} is not possible: the addresses of a classic load balancer change; a network one takes Elastic IPs`,
      );
    }
    if (!desired.families.includes('IPv4')) {
      refuseField('spec.ipFamilies: IPv6 is not possible with a classic load balancer of a VPC, expected IPv4');
    } else if (desired.families.length > 1) {
      note('spec.ipFamilies: IPv6 is not possible with a classic load balancer of a VPC; it serves IPv4 alone');
    }
    for (const key of [keys.targetGroupAttributes, keys.targetType, keys.eipAllocations, keys.privateAddresses]) {
      if (text(key) !== undefined) note(`${key}: ${JSON.stringify(annotations[key])} is ${only}`);
    }
  }

  function servedPorts(): readonly DesiredPort[] {
    const strange = desired.ports.filter(({ protocol }) => protocol !== 'TCP');
    for (const port of strange) {
      const field = `spec.ports: ${port.protocol} ${port.port}`;
      note(`${field}: a classic load balancer serves TCP alone; a network one serves UDP, too`, [port]);
    }
    const closed = desired.ports.filter(({ protocol, nodePort }) => protocol === 'TCP' && nodePort === 0);
    for (const port of closed) {
      note(`spec.ports: TCP ${port.port} has no node port, and a classic load balancer reaches members by it alone`, [
        port,
      ]);
    }
    return desired.ports.filter((port) => !strange.includes(port) && !closed.includes(port));
  }

  function readListeners(): readonly Listener[] | undefined {
    const certificate = text(keys.sslCertificate);
    if (certificate !== undefined && !/^arn:[\w-]+:(acm|iam):.+$/.test(certificate)) {
      refuse(keys.sslCertificate, 'expected the ARN of one certificate in ACM or IAM');
    }
    const names = (text(keys.sslPorts) ?? '*').split(',').flatMap((item) => item.trim().toLowerCase() || []);
    const all = names.includes('*');
    const isTls = ({ port, name }: DesiredPort) =>
      certificate !== undefined && (all || names.includes(String(port)) || names.includes(name.toLowerCase()));
    const known = new Set(
      desired.ports.flatMap(({ port, name }) => [String(port), ...(name ? [name.toLowerCase()] : [])]),
    );
    const strange = all || certificate === undefined ? [] : names.filter((name) => !known.has(name));
    // With none left, TLS would end nowhere, and clients would be answered in plain text.
    if (strange.length > 0 && strange.length === names.length)
      refuse(keys.sslPorts, `expected numbers or names of the Service's ports: ${[...known].join(', ')}`);
    else if (strange.length > 0) values.passOver(keys.sslPorts, `the Service has no port ${strange.join(', ')}`);
    if (
      refusals.some(({ message }) =>
        [keys.sslCertificate, keys.sslPorts, keys.backendProtocol].some((key) => message.startsWith(key)),
      )
    ) {
      return undefined;
    }
    return served.map((port): Listener => {
      const tls = isTls(port);
      const inner = tls ? (backend ?? 'tcp') : backend === 'http' ? 'http' : 'tcp';
      return {
        port: port.port,
        protocol: tls ? frontProtocols[inner]! : inner.toUpperCase(),
        instancePort: port.nodePort,
        instanceProtocol: inner.toUpperCase(),
        certificate: tls ? certificate : undefined,
      };
    });
  }

  function readHealth(probe: ClassicConfig['healthProbe']): HealthCheck | undefined {
    const first = served[0]?.nodePort;
    // Annotations that say a part of it mean the rest as the classic controller has it.
    const isSaid = [keys.healthProtocol, keys.healthPort, keys.healthPath].some((key) => text(key) !== undefined);
    const isOfNodePort = probe?.mode === 'ServiceNodePort' || (probe === undefined && isSaid);
    // What is spoken to the members is not known.
    if (isOfNodePort && backend !== undefined && frontProtocols[backend] === undefined) return undefined;
    const usual =
      desired.trafficPolicy === 'Local' || (probe === undefined && !isOfNodePort)
        ? { protocol: 'HTTP', ...desired.healthCheck }
        : probe?.mode === 'Shared'
          ? { protocol: 'HTTP', port: probe.port, path: probe.path }
          : { protocol: backend === 'https' || backend === 'ssl' ? 'SSL' : 'TCP', port: first, path: '' };
    const protocol = text(keys.healthProtocol)?.toUpperCase() ?? usual.protocol;
    if (!['HTTP', 'HTTPS', 'TCP', 'SSL'].includes(protocol)) {
      return refuse(keys.healthProtocol, 'expected HTTP, HTTPS, TCP or SSL');
    }
    const portText = text(keys.healthPort);
    const port = portText === undefined ? usual.port : portText === 'traffic-port' ? first : portOf(portText);
    if (portText !== undefined && portText !== 'traffic-port' && port === undefined) {
      return refuse(keys.healthPort, 'expected a port, 1 to 65535, or traffic-port');
    }
    const path = text(keys.healthPath) ?? (usual.path || '/');
    if (!/^\/\S{0,1023}$/.test(path)) return refuse(keys.healthPath, 'expected a path such as /healthz');
    const healthy = whole(keys.healthyThreshold, 2, 10, 2);
    const unhealthy = whole(keys.unhealthyThreshold, 2, 10, 6);
    const timeout = whole(keys.healthTimeout, 2, 60, 5);
    const interval = whole(keys.healthInterval, 5, 300, 10);
    if (timeout !== undefined && interval !== undefined && timeout >= interval) {
      return refuse(
        text(keys.healthTimeout) === undefined ? keys.healthInterval : keys.healthTimeout,
        `expected a timeout (${timeout}) below the interval (${interval})`,
      );
    }
    if (port === undefined || healthy === undefined || unhealthy === undefined) return undefined;
    if (timeout === undefined || interval === undefined) return undefined;
    const target = protocol.startsWith('HTTP') ? `${protocol}:${port}${path}` : `${protocol}:${port}`;
    return { target, interval, timeout, healthy, unhealthy };
  }

  function readAttributes(): Attributes {
    const drainingEnabled = flag(keys.drainingEnabled, false);
    const drainingTimeout =
      text(keys.drainingTimeout) === undefined ? undefined : whole(keys.drainingTimeout, 1, 3600, 0);
    return {
      crossZone: flag(keys.crossZone, false),
      draining: drainingEnabled === undefined ? undefined : { enabled: drainingEnabled, timeout: drainingTimeout },
      idleTimeout: whole(keys.idleTimeout, 1, 4000, 60),
      accessLog: readAccessLog(),
    };
  }

  function readAccessLog(): Attributes['accessLog'] {
    const enabled = flag(keys.accessLogEnabled, false);
    if (enabled !== true) return enabled === undefined ? undefined : { enabled };
    const bucket = text(keys.accessLogBucket);
    if (bucket === undefined)
      return refuse(keys.accessLogEnabled, `needs the name of a bucket in ${keys.accessLogBucket}`);
    const every = text(keys.accessLogEmitInterval);
    if (every !== undefined && every !== '5' && every !== '60') {
      return refuse(keys.accessLogEmitInterval, 'expected 5 or 60 minutes');
    }
    return {
      enabled,
      bucket,
      emitInterval: every === undefined ? undefined : Number(every),
      prefix: text(keys.accessLogPrefix),
    };
  }
}

/** The two ways to read the probe find the same faults. */
function unrepeated(refusals: readonly Refusal[]): Refusal[] {
  return [...new Map(refusals.map((refusal) => [refusal.message, refusal])).values()];
}
