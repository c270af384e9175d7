import ipaddr from 'ipaddr.js';
import { parseDuration } from '../../../../common/process/duration.ts';
import { createAnnotationReader, flagOf, oneOf } from '../../annotation-reader.ts';
import type { NodeLabel } from '../../load-balancers.ts';
import { type AnnotationName, annotationTable, prefix } from '../annotations.ts';
import type { Json } from './balancer.ts';
import { maxLabelValue } from './labels.ts';

export type Settings = ReturnType<typeof settingsOf>;

function wholeOf(text: string): number | undefined {
  return /^[+-]?\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Cut to whole ones, as the classic controller does. */
function secondsOf(text: string): number | undefined {
  const ms = parseDuration(text);
  return ms === undefined ? undefined : Math.trunc(ms / 1000);
}

const anyCase = (...allowed: readonly string[]) => {
  return (text: string) => oneOf(...allowed)(text.toLowerCase());
};
const protocolOf = anyCase('tcp', 'http', 'https');
const listOf = (text: string) => text.split(',').map((part) => part.trim());
const named = (text: string) => (text.trim() === '' ? undefined : text);

/** A label selector of Kubernetes, but for comparisons of numbers. */
function nodeLabelsOf(text: string): readonly NodeLabel[] | undefined {
  // Commas in parentheses are between values.
  const parts = text.match(/(?:[^,(]|\([^)]*\)?)+/g) ?? [];
  const labels = parts.flatMap((one) => (one.trim() === '' ? [] : [nodeLabelOf(one.trim())]));
  return labels.every((one) => one !== undefined) ? labels : undefined;
}

function nodeLabelOf(text: string): NodeLabel | undefined {
  const equal = /^([\w./-]+)\s*(==?|!=)\s*([\w.-]*)$/.exec(text);
  if (equal !== null) return { key: equal[1]!, value: equal[3]!, ...(equal[2] === '!=' && { not: true }) };
  const among = /^([\w./-]+)\s+(in|notin)\s+\(([^()]*)\)$/.exec(text);
  if (among !== null)
    return { key: among[1]!, value: undefined, values: listOf(among[3]!), ...(among[2] === 'notin' && { not: true }) };
  const has = /^(!?)\s*([\w./-]+)$/.exec(text);
  return has === null ? undefined : { key: has[2]!, value: undefined, ...(has[1] === '!' && { not: true }) };
}

/**
 * What the annotations say, and the variables `HCLOUD_LOAD_BALANCERS_...` where a Service has none. Undefined: what
 * stands is left as it is, as the classic controller does. Pure.
 *
 * @param defaults by the names of annotations without their prefix
 */
export function settingsOf(annotations: Readonly<Record<string, string>>, defaults: ReadonlyMap<string, string>) {
  const textOf = (name: AnnotationName) => annotations[prefix + name] ?? defaults.get(name);

  function sourceOf(name: AnnotationName): string {
    if (annotations[prefix + name] !== undefined) return prefix + name;
    const variable = name === 'ipv6-disabled' ? 'disable-ipv6' : name;
    return `HCLOUD_LOAD_BALANCERS_${variable.toUpperCase().replaceAll('-', '_')}`;
  }
  const { read, problems } = createAnnotationReader({
    textOf,
    sourceOf,
    expectedOf: (name) => annotationTable[name][0],
  });
  const flag = (name: AnnotationName) => read(name, flagOf);
  const seconds = (name: AnnotationName) => read(name, secondsOf);
  const text = (name: AnnotationName) => read(name, (one) => one);

  const protocol = read('protocol', protocolOf) ?? 'tcp';
  const proxyprotocol = flag('uses-proxyprotocol');
  const redirects = flag('http-redirect-http');
  const http = compact({
    cookie_name: text('http-cookie-name'),
    cookie_lifetime: seconds('http-cookie-lifetime'),
    timeout_idle: seconds('http-timeout-idle'),
    // HTTP takes none, so that of before goes.
    redirect_http: redirects ?? (protocol === 'http' ? false : undefined),
    sticky_sessions: flag('http-sticky-sessions'),
  });
  const check = {
    protocol: read('health-check-protocol', protocolOf),
    port: read('health-check-port', wholeOf),
    interval: seconds('health-check-interval'),
    timeout: seconds('health-check-timeout'),
    retries: read('health-check-retries', wholeOf),
  };
  const checkHttp = {
    domain: text('health-check-http-domain'),
    path: text('health-check-http-path'),
    tls: flag('health-check-http-validate-certificate'),
    status_codes: read('http-status-codes', listOf),
  };

  /** The rest of a service, in the fields of the wire. */
  function service(nodePort: number): Json {
    const isChosen = Object.values(check).some((value) => value !== undefined);
    const checked = check.protocol ?? (isChosen ? protocol : 'tcp');
    // The API knows HTTPS as HTTP with TLS.
    const tls = checkHttp.tls ?? (checked === 'https' ? true : undefined);
    return compact({
      destination_port: nodePort,
      protocol,
      proxyprotocol,
      http: protocol === 'tcp' || Object.keys(http).length === 0 ? undefined : http,
      health_check: compact({
        ...check,
        protocol: checked === 'https' ? 'http' : checked,
        port: check.port ?? nodePort,
        http: checked === 'tcp' ? undefined : compact({ ...checkHttp, tls }),
      }),
    });
  }

  const isManaged = read('certificate-type', anyCase('uploaded', 'managed')) === 'managed';
  const domains = read('http-managed-certificate-domains', listOf);
  const isStaging = flag('http-managed-certificate-acme-staging') ?? false;
  if (isManaged && domains === undefined) {
    const name = 'http-managed-certificate-domains';
    problems.push(`${prefix}${name}: missing, expected ${annotationTable[name][0]}`);
  }
  const uploaded = isManaged ? undefined : read('http-certificates', listOf);
  const disables = flag('disable-public-network');
  // An empty annotation takes the default away.
  const location = textOf('location') || undefined;
  return {
    name: read('name', named),
    hostname: read('hostname', (one) => (new RegExp(`^[\\w.-]{1,${maxLabelValue}}$`).test(one) ? one : undefined)),
    /** Undefined: they cannot be read. */
    nodeLabels: read('node-selector', nodeLabelsOf) ?? (textOf('node-selector') === undefined ? [] : undefined),
    location,
    zone: textOf('network-zone') || undefined,
    /** The place is of an annotation, so one that stands elsewhere is in the wrong place. */
    isPlaceAsked: Boolean(annotations[prefix + (location === undefined ? 'network-zone' : 'location')]),
    type: read('type', named),
    algorithm: read('algorithm-type', anyCase('round_robin', 'least_connections')),
    isPublic: disables === undefined ? undefined : !disables,
    hidesPrivate: flag('disable-private-ingress') ?? false,
    hidesIpv6: flag('ipv6-disabled') ?? false,
    usesPrivateIp: flag('use-private-ip') ?? false,
    privateIp: read('private-ipv4', (one) => (ipaddr.IPv4.isValidFourPartDecimal(one) ? one : undefined)),
    subnet: read('private-subnet-ip-range', (one) => (ipaddr.isValidCIDR(one) ? one : undefined)),
    rdns: { ipv4: text('ipv4-rdns'), ipv6: text('ipv6-rdns') },
    protocol,
    service,
    /** Ids or names. */
    uploaded,
    /** What cannot be read: name, value and what was expected. */
    problems,
    managed: isManaged
      ? { name: read('http-managed-certificate-name', named), domains: domains ?? [], isStaging }
      : undefined,
  };
}

/** Without fields that are undefined. */
function compact(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
