import type { IpTag } from '@azure/arm-network';
import ipaddr from 'ipaddr.js';
import { createAnnotationReader, flagOf, listOf, matching, numberIn, oneOf } from '../../annotation-reader.ts';
import { canonical, normalCidr } from '../../ip-address.ts';
import type { DesiredLoadBalancer, DesiredPort, IpFamily } from '../../load-balancers.ts';
import { isReservedTag } from '../../reserved-tags.ts';
import {
  type AnnotationName,
  known,
  knownOfPorts,
  type PortAnnotationName,
  portPrefix,
  prefix,
} from '../annotations.ts';
import { resourceName } from '../config.ts';
import { familyOf, type Tags } from './names.ts';
import { isForEveryone } from './ranges.ts';

/** What the annotations of a Service ask for. */
export interface Settings {
  readonly isInternal: boolean;
  /** Name; undefined: that of the configuration. */
  readonly subnet: string | undefined;
  /** In lower case; undefined: the cluster's. */
  readonly resourceGroup: string | undefined;
  readonly sides: Readonly<Record<IpFamily, SideSettings>>;
  readonly publicTags: Tags;
  readonly ipTags: readonly IpTag[];
  /** Empty: none; undefined: as it is. */
  readonly label: string | undefined;
  readonly ranges: readonly string[];
  readonly serviceTags: readonly string[];
  readonly deniesOthers: boolean;
  readonly isWithoutSecurityRules: boolean;
  readonly hasFloatingIp: boolean;
  readonly idleMinutes: number;
  readonly resetsTcp: boolean;
  readonly isForAllPorts: boolean;
  readonly probe: {
    /** Undefined: the health check of the Service, or of kube-proxy. */
    readonly protocol: 'Tcp' | 'Http' | 'Https' | undefined;
    readonly path: string;
    readonly intervalInSeconds: number;
    readonly probeThreshold: number;
  };
  /** By ports, where their annotations say anything. */
  readonly ports: ReadonlyMap<number, PortSettings>;
  /** A path for probes is given. */
  readonly hasPath: boolean;
  /** Every bad value, for the Service. */
  readonly problems: readonly string[];
}

/** Of one address family. */
export interface SideSettings {
  /** A static address, and where it was asked for. */
  readonly address: { readonly ip: string; readonly source: string } | undefined;
  /** That exists, and the annotation that names it. */
  readonly publicName: { readonly name: string; readonly source: string } | undefined;
  readonly publicPrefix: string | undefined;
}

export interface PortSettings {
  readonly hasRule: boolean;
  readonly hasProbe: boolean;
  /** Of a probe of its own; undefined: it has none for these annotations. */
  readonly probe: (Partial<Settings['probe']> & { /** Of nodes. */ readonly port: number | undefined }) | undefined;
}

/** A frontend with -IPv6 at the end of its name is the classic controller's. */
const subnetName = matching(/^[\p{L}\p{N}][\p{L}\p{N}._-]{0,79}(?<!-IPv6)$/u);
const prefixId = matching(
  /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Network\/publicIPPrefixes\/[^/]+$/i,
);
const protocols = { tcp: 'Tcp', http: 'Http', https: 'Https' } as const;
const refusedOnes = ['load-balancer-mode', 'load-balancer-configurations', 'additional-public-ips'] as const;

function familyIn(text: string): IpFamily | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return 'IPv4';
  return ipaddr.IPv6.isValid(text) && !text.includes('%') ? 'IPv6' : undefined;
}

const pathPattern = /^\/\S*$/;

function protocolOf(text: string): Settings['probe']['protocol'] {
  const word = oneOf('tcp', 'http', 'https')(text.trim().toLowerCase());
  return word === undefined ? undefined : protocols[word as keyof typeof protocols];
}

/** `own` undefined: no annotation is about that port. */
function portSettingsOf(
  { annotations, ports }: DesiredLoadBalancer,
  number: number,
  usual: Settings['probe'],
): { readonly own: PortSettings | undefined; readonly wrong: readonly string[] } {
  const keyOf = (name: PortAnnotationName) => `${portPrefix}${number}_${name}`;
  const { read, wrong, problems } = createAnnotationReader<PortAnnotationName>({
    textOf: (name) => annotations[keyOf(name)],
    sourceOf: keyOf,
    expectedOf: (name) => knownOfPorts[name][0],
  });
  const is = (name: PortAnnotationName) => read(name, (text) => flagOf(text.trim())) ?? false;
  const target = (text: string) => {
    const isThat = (one: DesiredPort) => String(one.port) === text || one.name.toLowerCase() === text.toLowerCase();
    const there = ports.find(isThat);
    return there === undefined ? numberIn(1, 65_535)(text) : there.nodePort || undefined;
  };
  const [protocol, port] = [read('health-probe_protocol', protocolOf), read('health-probe_port', target)];
  const intervalInSeconds = read('health-probe_interval', numberIn(5, 119));
  const probeThreshold = read('health-probe_num-of-probe', numberIn(2, 59));
  const path = read('health-probe_request-path', matching(pathPattern));
  const isGiven = intervalInSeconds !== undefined || probeThreshold !== undefined;
  if (isGiven && (intervalInSeconds ?? usual.intervalInSeconds) * (probeThreshold ?? usual.probeThreshold) >= 120)
    wrong('health-probe_interval', 'less than 120 s together with num-of-probe');
  const given = Object.entries({ protocol, port, intervalInSeconds, probeThreshold, path });
  const probe = Object.fromEntries(given.filter(([, value]) => value !== undefined)) as PortSettings['probe'];
  const hasAny = Object.keys(knownOfPorts).some((name) => annotations[keyOf(name as PortAnnotationName)] !== undefined);
  const own = { hasRule: !is('no_lb_rule'), hasProbe: !is('no_probe_rule') };
  return {
    own: hasAny ? { ...own, probe: Object.keys(probe!).length > 0 ? probe : undefined } : undefined,
    wrong: problems,
  };
}

function pair(text: string): readonly [string, string] | undefined {
  const [name = '', value, ...others] = text.split('=').map((part) => part.trim());
  return !/^\S+$/.test(name) || value === undefined || others.length > 0 ? undefined : [name, value];
}

/** Pure. */
export function settingsOf(desired: DesiredLoadBalancer): Settings {
  const { annotations, sourceRanges, asksForEverybody = false } = desired;
  const reader = createAnnotationReader<AnnotationName>({
    textOf: (name) => annotations[prefix + name],
    sourceOf: (name) => prefix + name,
    expectedOf: (name) => known[name][0],
  });
  const { read, wrong, problems } = reader;
  const has = (name: AnnotationName) => (annotations[prefix + name] ?? '') !== '';
  const is = (name: AnnotationName) => read(name, (text) => flagOf(text.trim())) ?? false;

  const isInternal = is('load-balancer-internal');
  const subnet = read('load-balancer-internal-subnet', subnetName);
  const resourceGroup = read('load-balancer-resource-group', matching(resourceName))?.toLowerCase();
  const asked = desired.address === undefined ? undefined : familyIn(desired.address);
  if (desired.address !== undefined && (asked === undefined || !desired.families.includes(asked)))
    problems.push(
      `spec.loadBalancerIP: ${JSON.stringify(desired.address)}, expected an ${desired.families.join(' or ')} address`,
    );
  const sideOf = (family: IpFamily): SideSettings => {
    const ipName = family === 'IPv4' ? 'load-balancer-ipv4' : 'load-balancer-ipv6';
    // With IPv6 alone the names without the family are good.
    const isSecond = family === 'IPv6' && desired.families.length > 1;
    const [named, prefixed] = isSecond
      ? (['pip-name-ipv6', 'pip-prefix-id-ipv6'] as const)
      : (['pip-name', 'pip-prefix-id'] as const);
    const own = read(ipName, (text) => (familyIn(text) === family ? text : undefined));
    const ip = own ?? (asked === family ? desired.address : undefined);
    const source = own === undefined ? 'spec.loadBalancerIP' : prefix + ipName;
    const name = read(named, matching(resourceName));
    if (name !== undefined && ip !== undefined) wrong(named, `it or ${source}, not both`);
    return {
      address: ip === undefined ? undefined : { ip: canonical(ip), source },
      publicName: name === undefined ? undefined : { name, source: prefix + named },
      publicPrefix: read(prefixed, prefixId),
    };
  };
  const nothing: SideSettings = { address: undefined, publicName: undefined, publicPrefix: undefined };
  const sides = {
    IPv4: desired.families.includes('IPv4') ? sideOf('IPv4') : nothing,
    IPv6: desired.families.includes('IPv6') ? sideOf('IPv6') : nothing,
  };
  const idle = ['load-balancer-ipv6', 'pip-name-ipv6', 'pip-prefix-id-ipv6'] as const;
  if (!desired.families.includes('IPv6'))
    for (const name of idle) if (has(name)) wrong(name, 'IPv6 in spec.ipFamilies');
  const publicTags = Object.fromEntries(read('pip-tags', listOf(pair)) ?? []);
  if (Object.keys(publicTags).some((name) => isReservedTag(name, ['k8s-azure-'])))
    wrong('pip-tags', "no tags that begin with 'mooring.dev-' or 'k8s-azure-'");
  const ipTags = (read('pip-ip-tags', listOf(pair)) ?? []).map(([ipTagType, tag]) => ({ ipTagType, tag }));
  const label = read('dns-label-name', matching(/^([a-z][a-z0-9-]{1,61}[a-z0-9])?$/));
  if (isInternal)
    for (const name of ['pip-name', 'pip-prefix-id', 'pip-name-ipv6', 'pip-prefix-id-ipv6', 'dns-label-name'] as const)
      if (has(name)) wrong(name, 'none for an internal address');

  const serviceTags = read('allowed-service-tags', listOf(matching(/^[A-Za-z][\w./-]*$/))) ?? [];
  const allowed = read('allowed-ip-ranges', listOf(normalCidr)) ?? [];
  if (allowed.length > 0 && sourceRanges.length > 0) wrong('allowed-ip-ranges', 'it or loadBalancerSourceRanges');
  // Elsewhere the rule for the tag Internet says the same by itself.
  const isOpened = asksForEverybody && (isInternal || serviceTags.length > 0);
  const everybody = desired.families.map((family) => (family === 'IPv6' ? '::/0' : '0.0.0.0/0'));
  const ranges = allowed.length > 0 ? allowed : isOpened ? everybody : sourceRanges;
  const isWithoutSecurityRules = is('disable-load-balancer-nsg-rule');
  const isOpen = isInternal || isWithoutSecurityRules || serviceTags.length > 0 || isForEveryone(allowed);
  if (!isOpen && allowed.length > 0 && !allowed.some((range) => desired.families.includes(familyOf(range))))
    wrong('allowed-ip-ranges', `at least one ${desired.families.join(' or ')} range: no client could connect`);
  const hasFloatingIp = !is('disable-load-balancer-floating-ip');
  if (!hasFloatingIp && !isWithoutSecurityRules)
    wrong('disable-load-balancer-floating-ip', `${prefix}disable-load-balancer-nsg-rule: "true" beside it`);
  const isForAllPorts = is('load-balancer-enable-high-availability-ports');
  if (isForAllPorts && !isInternal) wrong('load-balancer-enable-high-availability-ports', 'false for a public address');

  for (const name of refusedOnes) if (has(name)) wrong(name, 'none');
  if (is('pls-create')) wrong('pls-create', 'none, or false');
  const protocol = read('load-balancer-health-probe-protocol', protocolOf);
  const intervalInSeconds = read('load-balancer-health-probe-interval', numberIn(5, 119)) ?? 5;
  const probeThreshold = read('load-balancer-health-probe-num-of-probe', numberIn(2, 59)) ?? 2;
  if (intervalInSeconds * probeThreshold >= 120)
    wrong('load-balancer-health-probe-interval', 'less than 120 s together with num-of-probe');
  const path = read('load-balancer-health-probe-request-path', matching(pathPattern)) ?? '/';
  const probe = { protocol, path, intervalInSeconds, probeThreshold };
  const ports = new Map<number, PortSettings>();
  for (const { port } of desired.ports) {
    const { own, wrong: bad } = portSettingsOf(desired, port, probe);
    problems.push(...bad);
    if (own !== undefined) ports.set(port, own);
  }

  return {
    isInternal,
    subnet,
    resourceGroup,
    sides,
    publicTags,
    ipTags,
    label,
    serviceTags,
    ranges,
    isWithoutSecurityRules,
    hasFloatingIp,
    isForAllPorts,
    problems,
    deniesOthers: is('deny-all-except-load-balancer-source-ranges') && ranges.length > 0 && !isOpened,
    idleMinutes: read('load-balancer-tcp-idle-timeout', numberIn(4, 100)) ?? 4,
    resetsTcp: !is('load-balancer-disable-tcp-reset'),
    hasPath: has('load-balancer-health-probe-request-path'),
    probe,
    ports,
  };
}
