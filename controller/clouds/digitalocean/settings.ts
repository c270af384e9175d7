import ipaddr from 'ipaddr.js';
import { createAnnotationReader, flagOf, listOf, matching, numberIn, oneOf } from '../annotation-reader.ts';
import type { DesiredLoadBalancer } from '../load-balancers.ts';
import { type AnnotationName, annotationTable, disownAnnotation, prefix } from './annotations.ts';
import type { Json } from './balancer.ts';
import { types, uuid } from './config.ts';

export type Settings = ReturnType<typeof settingsOf>;

const portOf = numberIn(1, 65_535);
const dnsName = matching(/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/);
function firewallRule(text: string): string | undefined {
  const [, kind, source = ''] = /^(ip|cidr):(.+)$/.exec(text) ?? [];
  const isGood = kind === 'ip' ? ipaddr.isValid(source) : kind === 'cidr' && ipaddr.isValidCIDR(source);
  return isGood ? text : undefined;
}

/** What the annotations of a Service say. Undefined: what stands is left as it is. Pure. */
export function settingsOf(desired: DesiredLoadBalancer) {
  const { annotations, ports, sourceRanges, asksForEverybody = false } = desired;
  // An empty one says nothing.
  const { read, wrong, problems } = createAnnotationReader<AnnotationName>({
    textOf: (name) => annotations[prefix + name] || undefined,
    sourceOf: (name) => prefix + name,
    expectedOf: (name) => annotationTable[name][0],
  });
  const has = (name: AnnotationName) => annotations[prefix + name] !== undefined;

  const [httpPorts = [], http2Ports = []] = (['http-ports', 'http2-ports'] as const).map((one) =>
    read(one, listOf(portOf)),
  );
  const certificate = read('certificate-id', matching(uuid)) ?? read('certificate-name', (text) => text);
  const isPassedThrough = read('tls-passthrough', flagOf) ?? false;
  const isSecure = certificate !== undefined || isPassedThrough;
  const securePort = isSecure && !http2Ports.includes(443) ? [443] : [];
  const httpsPorts = read('tls-ports', listOf(portOf)) ?? securePort;
  const usual = read('protocol', oneOf('tcp', 'http', 'https', 'http2')) ?? 'tcp';
  const protocolOf = (port: number) => {
    if (http2Ports.includes(port)) return 'http2';
    if (httpsPorts.includes(port)) return 'https';
    return httpPorts.includes(port) ? 'http' : usual;
  };
  for (const port of new Set([...httpPorts, ...http2Ports, ...httpsPorts]))
    if ([httpPorts, http2Ports, httpsPorts].filter((some) => some.includes(port)).length > 1)
      problems.push(`${prefix}*-ports: ${port}, expected each port in one of them`);
  const tcpPorts = ports.filter(({ protocol }) => protocol === 'TCP');
  const isTls = tcpPorts.some(({ port }) => ['https', 'http2'].includes(protocolOf(port)));
  if (isTls && !isSecure) wrong('certificate-id', `it, ${prefix}certificate-name or ${prefix}tls-passthrough`);
  if (certificate !== undefined && isPassedThrough) wrong('tls-passthrough', 'it or a certificate, not both');
  const http3Port = read('http3-port', portOf);
  if (http3Port !== undefined && certificate === undefined) wrong('certificate-id', `it beside ${prefix}http3-port`);

  const cookies = read('sticky-sessions-type', oneOf('none', 'cookies')) === 'cookies';
  const cookie = {
    cookie_name: read('sticky-sessions-cookie-name', (text) => text),
    cookie_ttl_seconds: read('sticky-sessions-cookie-ttl', numberIn(1, 999_999_999)),
  };
  for (const name of ['sticky-sessions-cookie-name', 'sticky-sessions-cookie-ttl'] as const)
    if (cookies && !has(name)) wrong(name, annotationTable[name][0]);
  const size = { size_unit: read('size-unit', numberIn(1, 200)), size: read('size-slug', oneOf(...slugs)) };
  if (size.size_unit !== undefined && size.size !== undefined) wrong('size-slug', 'it or size-unit, not both');

  function healthCheckOf(): Json {
    const path = read('healthcheck-path', matching(/^\//));
    const protocol = read('healthcheck-protocol', oneOf('tcp', 'http', 'https'));
    const number = read('healthcheck-port', portOf);
    const checked = tcpPorts.find(({ port }) => number === undefined || port === number);
    const usualCheck = { protocol: 'http', ...desired.healthCheck, proxy_protocol: false };
    if (!has('override-health-check')) return usualCheck;
    if (checked === undefined) {
      if (number === undefined) problems.push(`spec.ports: no TCP port, expected one for the health check`);
      else wrong('healthcheck-port', 'a TCP port of the Service');
      return usualCheck;
    }
    return {
      protocol: protocol ?? (path === undefined ? 'tcp' : 'http'),
      port: checked.nodePort,
      ...(path && { path }),
    };
  }
  const healthCheck = {
    ...healthCheckOf(),
    check_interval_seconds: read('healthcheck-check-interval-seconds', numberIn(3, 300)) ?? 3,
    response_timeout_seconds: read('healthcheck-response-timeout-seconds', numberIn(3, 300)) ?? 5,
    unhealthy_threshold: read('healthcheck-unhealthy-threshold', numberIn(2, 10)) ?? 3,
    healthy_threshold: read('healthcheck-healthy-threshold', numberIn(2, 10)) ?? 5,
  };
  const allowed = read('allow-rules', listOf(firewallRule)) ?? [];
  const firewall = {
    allow: sourceRanges.length > 0 || asksForEverybody ? sourceRanges.map((range) => `cidr:${range}`) : allowed,
    deny: read('deny-rules', listOf(firewallRule)) ?? [],
  };
  if (annotations[disownAnnotation] !== undefined && annotations[disownAnnotation] !== 'false')
    problems.push(`${disownAnnotation}: ${JSON.stringify(annotations[disownAnnotation])}, expected false`);
  const unused = (['healthcheck-port', 'healthcheck-protocol', 'healthcheck-path'] as const).filter(
    (name) => has(name) && !has('override-health-check'),
  );
  const remarks = [
    ...(has('algorithm') ? [`${prefix}algorithm has no effect: the cloud chooses`] : []),
    ...unused.map((name) => `${prefix}${name} has no effect without ${prefix}override-health-check`),
  ];
  return {
    title: read('name', dnsName),
    hostname: read('hostname', dnsName)?.toLowerCase(),
    /** In the wire's fields: they cannot be changed. */
    fixed: compact({
      type: read('type', oneOf(...types)),
      network: read('network', oneOf('EXTERNAL', 'INTERNAL')),
      network_stack: read('network-stack', oneOf('IPV4', 'DUALSTACK')),
      subnet_uuid: read('subnet-uuid', matching(uuid)),
      ip: read('ip', (text) => (ipaddr.IPv4.isValidFourPartDecimal(text) ? text : undefined)),
    }),
    /** In the wire's fields, without rules and droplets. */
    body: compact({
      ...size,
      health_check: healthCheck,
      sticky_sessions: cookies ? { type: 'cookies', ...cookie } : { type: 'none' },
      firewall,
      redirect_http_to_https: read('redirect-http-to-https', flagOf) ?? false,
      enable_proxy_protocol: read('enable-proxy-protocol', flagOf) ?? false,
      enable_backend_keepalive: read('enable-backend-keepalive', flagOf) ?? false,
      disable_lets_encrypt_dns_records: read('disable-lets-encrypt-dns-records', flagOf) ?? false,
      http_idle_timeout_seconds: read('http-idle-timeout-seconds', numberIn(30, 600)),
    }),
    /** `tcp`, `http`, `https` or `http2` of a TCP port. */
    protocolOf,
    /** Also served as HTTP/3. */
    http3Port,
    isPassedThrough,
    /** Id or name. */
    certificate,
    /** What cannot be read: name, value and what was expected. */
    problems,
    /** What has no effect. */
    remarks,
  };
}

const slugs = ['lb-small', 'lb-medium', 'lb-large'];

/** Without fields that are undefined. */
function compact(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
