import type { IpTag } from '@azure/arm-network';
import ipaddr from 'ipaddr.js';
import { createAnnotationReader, flagOf, listOf, matching, numberIn, oneOf } from '../../annotation-reader.ts';
import { canonical, normalCidr } from '../../ip-address.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { type AnnotationName, known, prefix } from '../annotations.ts';
import { resourceName } from '../config.ts';
import type { Tags } from './names.ts';

/** What the annotations of a Service ask for. */
export interface Settings {
  readonly isInternal: boolean;
  /** Name; undefined: that of the configuration. */
  readonly subnet: string | undefined;
  /** A static address, and where it was asked for. */
  readonly address: { readonly ip: string; readonly source: string } | undefined;
  /** In lower case; undefined: the cluster's. */
  readonly resourceGroup: string | undefined;
  readonly publicName: string | undefined;
  readonly publicPrefix: string | undefined;
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
  /** A path for probes is given. */
  readonly hasPath: boolean;
  /** Every bad value, for the Service. */
  readonly problems: readonly string[];
}

/** A frontend with -IPv6 at the end of its name is the classic controller's. */
const subnetName = matching(/^[\p{L}\p{N}][\p{L}\p{N}._-]{0,79}(?<!-IPv6)$/u);
const prefixId = matching(
  /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/Microsoft\.Network\/publicIPPrefixes\/[^/]+$/i,
);
const protocols = { tcp: 'Tcp', http: 'Http', https: 'Https' } as const;
const refusedOnes = [
  ...(['load-balancer-mode', 'load-balancer-configurations', 'additional-public-ips', 'load-balancer-ipv6'] as const),
  ...(['pip-name-ipv6', 'pip-prefix-id-ipv6'] as const),
];

function pair(text: string): readonly [string, string] | undefined {
  const [, name, value] = /^([^=\s]+)\s*=\s*([^=]*)$/.exec(text) ?? [];
  return name === undefined || value === undefined ? undefined : [name, value.trim()];
}

/** Pure. */
export function settingsOf(desired: DesiredLoadBalancer): Settings {
  const { annotations, sourceRanges } = desired;
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
  const asked = read('load-balancer-ipv4', (text) => (ipaddr.IPv4.isValidFourPartDecimal(text) ? text : undefined));
  const address = asked ?? desired.address;
  if (address !== undefined && !ipaddr.IPv4.isValidFourPartDecimal(address))
    problems.push(`spec.loadBalancerIP: ${JSON.stringify(address)}, expected an IPv4 address`);
  const source = asked === undefined ? 'spec.loadBalancerIP' : `${prefix}load-balancer-ipv4`;
  const resourceGroup = read('load-balancer-resource-group', matching(resourceName))?.toLowerCase();
  const publicName = read('pip-name', matching(resourceName));
  if (publicName !== undefined && address !== undefined) wrong('pip-name', `it or ${source}, not both`);
  const publicPrefix = read('pip-prefix-id', prefixId);
  const publicTags = Object.fromEntries(read('pip-tags', listOf(pair)) ?? []);
  if (Object.keys(publicTags).some((name) => /^(mooring\.dev-|k8s-azure-)/i.test(name)))
    wrong('pip-tags', "no tags that begin with 'mooring.dev-' or 'k8s-azure-'");
  const ipTags = (read('pip-ip-tags', listOf(pair)) ?? []).map(([ipTagType, tag]) => ({ ipTagType, tag }));
  const label = read('dns-label-name', matching(/^([a-z][a-z0-9-]{1,61}[a-z0-9])?$/));
  if (isInternal)
    for (const name of ['pip-name', 'pip-prefix-id', 'dns-label-name'] as const)
      if (has(name)) wrong(name, 'none for an internal address');

  const allowed = read('allowed-ip-ranges', listOf(normalCidr)) ?? [];
  if (allowed.length > 0 && sourceRanges.length > 0) wrong('allowed-ip-ranges', 'it or loadBalancerSourceRanges');
  const ranges = allowed.length > 0 ? allowed : sourceRanges;
  if (ranges.some((range) => range.includes(':'))) problems.push('source ranges: IPv6, expected IPv4 alone');
  const serviceTags = read('allowed-service-tags', listOf(matching(/^[A-Za-z][\w.]*$/))) ?? [];
  const isWithoutSecurityRules = is('disable-load-balancer-nsg-rule');
  const hasFloatingIp = !is('disable-load-balancer-floating-ip');
  if (!hasFloatingIp && !isWithoutSecurityRules)
    wrong('disable-load-balancer-floating-ip', `${prefix}disable-load-balancer-nsg-rule: "true" beside it`);
  const isForAllPorts = is('load-balancer-enable-high-availability-ports');
  if (isForAllPorts && !isInternal) wrong('load-balancer-enable-high-availability-ports', 'false for a public address');

  for (const name of refusedOnes) if (has(name)) wrong(name, 'none');
  if (is('pls-create')) wrong('pls-create', 'none, or false');
  const protocol = read('load-balancer-health-probe-protocol', (text) => {
    const word = oneOf('tcp', 'http', 'https')(text.trim().toLowerCase());
    return word === undefined ? undefined : protocols[word as keyof typeof protocols];
  });
  const intervalInSeconds = read('load-balancer-health-probe-interval', numberIn(5, 119)) ?? 5;
  const probeThreshold = read('load-balancer-health-probe-num-of-probe', numberIn(2, 59)) ?? 2;
  if (intervalInSeconds * probeThreshold >= 120)
    wrong('load-balancer-health-probe-interval', 'less than 120 s together with num-of-probe');
  const path = read('load-balancer-health-probe-request-path', matching(/^\/\S*$/)) ?? '/';

  return {
    ...{ isInternal, subnet, resourceGroup, publicName, publicPrefix, publicTags, ipTags, label, serviceTags },
    address: address === undefined ? undefined : { ip: canonical(address), source },
    ...{ ranges, isWithoutSecurityRules, hasFloatingIp, isForAllPorts, problems },
    deniesOthers: is('deny-all-except-load-balancer-source-ranges') && ranges.length > 0,
    idleMinutes: read('load-balancer-tcp-idle-timeout', numberIn(4, 100)) ?? 4,
    resetsTcp: !is('load-balancer-disable-tcp-reset'),
    hasPath: has('load-balancer-health-probe-request-path'),
    probe: { protocol, path, intervalInSeconds, probeThreshold },
  };
}
