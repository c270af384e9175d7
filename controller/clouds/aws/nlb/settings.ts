import type { Refusal } from '../../../engine/resource.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { itemsOf, readAnnotations } from '../annotation-values.ts';
import { keys } from '../load-balancer-annotations.ts';
import type { Tags } from '../load-balancer-tags.ts';

export type Scheme = 'internet-facing' | 'internal';

/** What the annotations ask of a probe; undefined = not said. */
export interface HealthSettings {
  readonly protocol: 'HTTP' | 'HTTPS' | 'TCP' | undefined;
  /** A number or `traffic-port`. */
  readonly port: string | undefined;
  readonly path: string | undefined;
  readonly healthy: number | undefined;
  readonly unhealthy: number | undefined;
  readonly timeout: number | undefined;
  readonly interval: number | undefined;
}

export interface TlsSettings {
  readonly certificate: string;
  readonly policy: string | undefined;
  /** Numbers and names of ports; undefined = all. */
  readonly ports: ReadonlySet<string> | undefined;
  readonly toMembers: boolean;
}

/** The annotations of one Service as what they mean for a network load balancer. */
export interface NlbSettings {
  readonly scheme: Scheme;
  readonly targetType: 'instance' | 'ip';
  /** Ids or Name tags; empty = discover. */
  readonly subnets: readonly string[];
  readonly securityGroups: readonly string[];
  readonly eips: readonly string[];
  readonly privateAddresses: readonly string[];
  readonly crossZone: boolean;
  readonly accessLog: { readonly bucket: string; readonly prefix: string } | undefined;
  readonly tls: TlsSettings | undefined;
  readonly tags: Tags;
  readonly preserveClientIp: boolean | undefined;
  readonly proxyProtocol: boolean;
  readonly health: HealthSettings;
  /** Keys of annotations whose values mean nothing: what they are about stays as it is. */
  readonly unclear: ReadonlySet<string>;
  /** What is asked for and not done; without it, something else than what was meant would be made. */
  readonly refusals: readonly Refusal[];
  /** Asked for and not done, and all the same what is made is what was meant. */
  readonly notes: readonly Refusal[];
  /** Values that the classic controller passes over without a word: so does this, and says it. */
  readonly remarks: readonly string[];
}

const only = 'of a classic load balancer only';
/** What the classic controller ignores on a network load balancer. */
const classicOnly: readonly (readonly [string, string])[] = [
  [keys.proxyProtocol, `${only}; here ${keys.targetGroupAttributes} with proxy_protocol_v2.enabled=true does it`],
  [keys.accessLogEmitInterval, `${only}; a network one writes every five minutes`],
  [keys.drainingEnabled, `${only}; a network one always drains`],
  [keys.drainingTimeout, `${only}; a network one drains for its target groups' deregistration delay`],
  [keys.idleTimeout, `${only}; a network one has 350 seconds`],
];

/**
 * Reads what a Service asks of its network load balancer. Bad values become refusals that name annotation, value and
 * what is possible.
 */
export function readNlbSettings(desired: DesiredLoadBalancer, options: { readonly managed: boolean }): NlbSettings {
  const { annotations } = desired;
  const values = readAnnotations(annotations);
  const { refusals, remarks, unclear, text, refuse, passOver, flag, whole } = values;
  const notes: Refusal[] = [];
  const list = (...args: Parameters<typeof values.list>) => values.list(...args) ?? [];

  for (const [key, why] of classicOnly)
    if (text(key) !== undefined)
      notes.push({ reason: 'Unsupported', message: `${key}: ${JSON.stringify(annotations[key])} is ${why}` });
  if (text(keys.extraSecurityGroups) !== undefined)
    refuse(keys.extraSecurityGroups, `${only}; name all groups in ${keys.securityGroups}`);
  if (desired.address !== undefined)
    refusals.push({
      reason: 'Unsupported',
      message:
        `spec.loadBalancerIP: ${JSON.stringify(desired.address)}: name Elastic IPs in ${keys.eipAllocations}, ` +
        `or private addresses in ${keys.privateAddresses}`,
    });
  if (desired.sessionAffinity !== undefined)
    refusals.push({
      reason: 'Unsupported',
      message: 'spec.sessionAffinity: ClientIP is not possible with load balancers of AWS, expected None',
    });

  const scheme: Scheme = values.internal() ? 'internal' : 'internet-facing';
  const eips = list(keys.eipAllocations, /^eipalloc-[0-9a-z]+$/, 'expected different ids eipalloc-…');
  if (eips.length > 0 && scheme === 'internal')
    refuse(keys.eipAllocations, `not possible with an internal load balancer; expected ${keys.privateAddresses}`);
  const privateAddresses = list(
    keys.privateAddresses,
    /^(\d{1,3}\.){3}\d{1,3}$/,
    'expected different IPv4 addresses, one for each subnet',
  );
  if (privateAddresses.length > 0 && scheme === 'internet-facing')
    refuse(keys.privateAddresses, `possible only with an internal load balancer; set ${keys.internal} to true`);
  const subnets = values.subnets() ?? [];
  for (const [key, given] of [
    [keys.eipAllocations, eips],
    [keys.privateAddresses, privateAddresses],
  ] as const)
    if (given.length > 0 && subnets.length > 0 && given.length !== subnets.length && !unclear.has(key))
      refuse(key, `expected as many as the ${subnets.length} subnets of ${keys.subnets}`);
  const securityGroups = values.groups(keys.securityGroups);
  if (itemsOf(annotations[keys.securityGroups]).length > 0 && !options.managed)
    refuse(keys.securityGroups, 'possible only with NLBSecurityGroupMode = Managed in the cloud config');

  const targetTypeText = text(keys.targetType) ?? 'instance';
  if (targetTypeText !== 'instance' && targetTypeText !== 'ip') refuse(keys.targetType, 'expected instance or ip');

  const settings = {
    scheme,
    targetType: targetTypeText === 'ip' ? ('ip' as const) : ('instance' as const),
    subnets,
    securityGroups: unclear.has(keys.securityGroups) ? [] : (securityGroups ?? []),
    eips: unclear.has(keys.eipAllocations) ? [] : eips,
    privateAddresses: unclear.has(keys.privateAddresses) ? [] : privateAddresses,
    crossZone: flag(keys.crossZone) ?? false,
    accessLog: readAccessLog(),
    tls: readTls(),
    tags: readTags(),
    ...readTargetGroupAttributes(),
    health: readHealth(),
  };
  return { ...settings, unclear, refusals, notes, remarks };

  function readAccessLog(): NlbSettings['accessLog'] {
    if (flag(keys.accessLogEnabled) !== true) return undefined;
    const bucket = text(keys.accessLogBucket);
    if (bucket === undefined) {
      unclear.add(keys.accessLogEnabled);
      const message = `${keys.accessLogEnabled}: true needs the name of a bucket in ${keys.accessLogBucket}`;
      refusals.push({ reason: 'Unsupported', message });
      return undefined;
    }
    return { bucket, prefix: text(keys.accessLogPrefix) ?? '' };
  }

  function readTls(): TlsSettings | undefined {
    const certificate = text(keys.sslCertificate);
    if (certificate === undefined) return undefined;
    if (!/^arn:[\w-]+:(acm|iam):[^\s,]+$/.test(certificate))
      return refuse(keys.sslCertificate, 'expected the ARN of one certificate in ACM or IAM');
    const ports = (text(keys.sslPorts) ?? '*').split(',').flatMap((item) => item.trim() || []);
    const all = ports.includes('*');
    const known = new Set(desired.ports.flatMap(({ port, name }) => [String(port), ...(name ? [name] : [])]));
    const strange = all ? [] : ports.filter((port) => !known.has(port));
    // With none left, TLS would end nowhere, and clients would be answered in plain text.
    if (strange.length > 0 && strange.length === ports.length)
      refuse(keys.sslPorts, `expected numbers or names of the Service's ports: ${[...known].join(', ')}`);
    else if (strange.length > 0) passOver(keys.sslPorts, `the Service has no port ${strange.join(', ')}`);
    const backend = text(keys.backendProtocol)?.toLowerCase();
    const ofClassic = backend === 'http' || backend === 'https';
    if (backend !== undefined && backend !== 'ssl' && backend !== 'tcp' && !ofClassic)
      refuse(keys.backendProtocol, 'expected ssl or tcp with a network load balancer');
    else if (ofClassic)
      passOver(keys.backendProtocol, 'without effect on a network load balancer, where ssl or tcp is');
    return {
      certificate,
      policy: text(keys.sslPolicy),
      ports: all ? undefined : new Set(ports),
      toMembers: backend === 'ssl',
    };
  }

  function readTags(): Tags {
    const tags = values.tags();
    if (Object.keys(tags).length > 40) {
      refuse(keys.additionalTags, 'expected 40 tags at the most: AWS allows 50 in all');
      return {};
    }
    return tags;
  }

  function readTargetGroupAttributes(): Pick<NlbSettings, 'preserveClientIp' | 'proxyProtocol'> {
    const expected = 'expected preserve_client_ip.enabled and proxy_protocol_v2.enabled with true or false';
    const known = new Map<string, boolean>();
    for (const pair of (text(keys.targetGroupAttributes) ?? '').split(',')) {
      if (pair.trim() === '') continue;
      const match = /^(preserve_client_ip|proxy_protocol_v2)\.enabled=(true|false)$/.exec(pair.trim());
      if (match) known.set(match[1]!, match[2] === 'true');
      else if (!unclear.has(keys.targetGroupAttributes)) refuse(keys.targetGroupAttributes, expected);
    }
    const preserveClientIp = known.get('preserve_client_ip');
    if (preserveClientIp === false && desired.ports.some(({ protocol }) => protocol === 'UDP'))
      refuse(keys.targetGroupAttributes, 'preserve_client_ip.enabled=false is not possible with UDP');
    return { preserveClientIp, proxyProtocol: known.get('proxy_protocol_v2') ?? false };
  }

  function readHealth(): HealthSettings {
    const protocol = text(keys.healthProtocol)?.toUpperCase();
    const knownProtocol = protocol === 'HTTP' || protocol === 'HTTPS' || protocol === 'TCP' ? protocol : undefined;
    if (protocol !== undefined && knownProtocol === undefined)
      refuse(keys.healthProtocol, 'expected HTTP, HTTPS or TCP');
    const port = text(keys.healthPort);
    const isPort = port !== undefined && /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535;
    if (port !== undefined && port !== 'traffic-port' && !isPort)
      refuse(keys.healthPort, 'expected a port, 1 to 65535, or traffic-port');
    const path = text(keys.healthPath);
    if (path !== undefined && !/^\/\S{0,1023}$/.test(path)) refuse(keys.healthPath, 'expected a path such as /healthz');
    const interval = whole(keys.healthInterval, 5, 300);
    const timeout = whole(keys.healthTimeout, 2, 120);
    if (timeout !== undefined && interval !== undefined && timeout > interval)
      refuse(keys.healthTimeout, `expected at most the interval, ${interval}`);
    return {
      protocol: knownProtocol,
      port: unclear.has(keys.healthPort) ? undefined : port,
      path: unclear.has(keys.healthPath) ? undefined : path,
      healthy: whole(keys.healthyThreshold, 2, 10),
      unhealthy: whole(keys.unhealthyThreshold, 2, 10),
      timeout,
      interval,
    };
  }
}
