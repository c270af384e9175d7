import { createHash } from 'node:crypto';
import type { Owner, Protocol } from '../../load-balancers.ts';

/** Tags of ours. Names of tags have no slashes on Azure. */
export const tags = {
  cluster: 'mooring.dev-cluster',
  service: 'mooring.dev-service-uid',
  retained: 'mooring.dev-retained',
  consent: 'mooring.dev-attachable-by',
} as const;
/** Tags of the classic controller. */
export const classicTags = {
  service: 'k8s-azure-service',
  cluster: 'k8s-azure-cluster-name',
  label: 'k8s-azure-dns-label-service',
} as const;

export type Tags = Readonly<Record<string, string>>;

/** The classic controller cuts the names of what it makes for subnets, rules and public addresses. */
const maxLength = 75;

/** Of everything that a Service has in a load balancer, as the classic controller names it: the UID lacks one digit. */
export function baseName(service: string): string {
  return `a${service.replaceAll('-', '')}`.slice(0, 32);
}

/** The classic controller's second frontend of a dual-stack Service, and its rules and probes: they are left alone. */
const ofIPv6 = /-IPv6$/;

export function isOfBase(name: string, base: string): boolean {
  const text = name.toLowerCase();
  return !ofIPv6.test(name) && (text === base || text.startsWith(`${base}-`));
}

/** The base name in a name, in lower case; undefined for a name that is no Service's. */
export function baseOf(name: string): string | undefined {
  return ofIPv6.test(name) ? undefined : /^a[0-9a-f]{31}(?=-|$)/i.exec(name)?.[0].toLowerCase();
}

/** @param subnet the one that an annotation names */
export function frontendName(base: string, subnet: string | undefined): string {
  if (subnet === undefined) return base;
  const name = `${base}-${subnet}`;
  const cut = name.slice(0, maxLength);
  return cut === name ? name : cut.replace(/[^\p{L}_]$/u, '_');
}

export function ruleName(base: string, subnet: string | undefined, protocol: Protocol, port: number): string {
  const rest = `-${protocol}-${port}`;
  if (subnet === undefined) return base + rest;
  return `${base}-${subnet.slice(0, maxLength - base.length - rest.length - 1)}${rest}`;
}

/** @param prefix name of the prefix that it is taken from */
export function publicAddressName(clusterName: string, base: string, prefix: string | undefined): string {
  return [clusterName, base, ...(prefix === undefined ? [] : [prefix])].join('-').slice(0, maxLength);
}

/** @param sources and ports, in the order of their texts */
export function allowRuleName(protocol: string, sources: readonly string[], ports: readonly string[]): string {
  const text = [protocol, sources.join(), ports.join()].join('_');
  return `k8s-azure-lb_allow_IPv4_${createHash('md5').update(text).digest('hex')}`;
}

export const denyRuleName = 'k8s-azure-lb_deny-all_IPv4';
export const isRuleName = (name: string) => /^k8s-azure-lb_(allow_IPv4_[0-9a-f]{32}|deny-all_IPv4)$/i.test(name);

const codeLength = 8;
const codesInTag = 32;
const codeTag = /^mooring\.dev-services-(\d+)$/i;

/**
 * Frontends and rules carry no tags, and a name alone proves nothing: the tags of their load balancer list whose parts
 * are ours. A code is made of the UIDs of cluster and Service, so that 50 tags are enough for every Service.
 */
export function codeOf({ cluster, service }: Owner): string {
  return createHash('sha256').update(`${cluster}/${service}`).digest('base64url').slice(0, codeLength);
}

export function codesIn(all: Tags): ReadonlySet<string> {
  const texts = Object.entries(all).flatMap(([name, value]) => (codeTag.test(name) ? value : []));
  return new Set(texts.flatMap((text) => text.match(new RegExp(`.{${codeLength}}`, 'g')) ?? []));
}

export function withCodes(all: Tags, codes: ReadonlySet<string>): Tags {
  const others = Object.entries(all).filter(([name]) => !codeTag.test(name));
  const list = [...codes].sort();
  const own = Array.from({ length: Math.ceil(list.length / codesInTag) }, (_, at) => {
    return [`mooring.dev-services-${at}`, list.slice(at * codesInTag, (at + 1) * codesInTag).join('')];
  });
  return Object.fromEntries([...others, ...own]);
}

/** Whose part has that name; undefined where its load balancer does not list the Service. */
export function ownerOf(name: string, cluster: string, codes: ReadonlySet<string>): Owner | undefined {
  const digits = baseOf(name)?.slice(1);
  if (digits === undefined || codes.size === 0) return undefined;
  return [...'0123456789abcdef']
    .map((last) => (digits + last).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'))
    .map((service) => ({ cluster, service }))
    .find((owner) => codes.has(codeOf(owner)));
}
