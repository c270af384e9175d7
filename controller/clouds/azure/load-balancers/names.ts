import { createHash } from 'node:crypto';
import type { IpFamily, Owner, Protocol } from '../../load-balancers.ts';

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

/** Names of tags compare without case. */
export function tagOf(all: Tags, name: string): string | undefined {
  const text = name.toLowerCase();
  return all[name] ?? Object.entries(all).find(([tag]) => tag.toLowerCase() === text)?.[1];
}

/** With others in place of those of the same names. @param own undefined: the tag goes */
export function withTags(all: Tags, own: Readonly<Record<string, string | undefined>>): Tags {
  const names = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const kept = Object.entries(all).filter(([name]) => !names.has(name.toLowerCase()));
  const added = Object.entries(own).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return Object.fromEntries([...kept, ...added]);
}

/** The classic controller cuts the names of what it makes for subnets, rules and public addresses. */
const maxLength = 75;
const baseLength = 32;

/** Of everything that a Service has in a load balancer: the UID lacks one digit. */
export { classicName as baseName } from '../../adoption.ts';

/** One address family of a Service: the second one of a dual-stack Service has names of its own. */
export interface Side {
  readonly family: IpFamily;
  /** Of its frontend and public address. */
  readonly key: SideKey;
  /** Of its names. */
  readonly suffix: '' | '-IPv6';
}
export type SideKey = 'main' | 'IPv6';

/** The first is that of IPv4, where there is one. */
export function sidesOf(families: readonly IpFamily[]): readonly Side[] {
  const first = { family: families.includes('IPv4') ? 'IPv4' : 'IPv6', key: 'main', suffix: '' } as const;
  return families.length > 1 ? [first, { family: 'IPv6', key: 'IPv6', suffix: '-IPv6' }] : [first];
}

/** @param subnet id of its subnet, whose name ends that of the frontend and may itself end like that of a side */
export function frontendSide(name: string, subnet: string | undefined): SideKey {
  const own = subnet?.split('/').at(-1);
  const isWithSubnet = own !== undefined && frontendName(name.slice(0, baseLength), own) === name;
  return isWithSubnet ? 'main' : sideKeyOf(name);
}

/** Of a public address. @param prefix id of the prefix that it is taken from: its name may end like that of a side */
export function addressSide(name: string, prefix: string | undefined): SideKey {
  const rest = /-a[0-9a-f]{31}-(.*)$/.exec(name)?.[1];
  const isWithPrefix = rest !== undefined && name.length <= maxLength && prefix?.split('/').at(-1)?.startsWith(rest);
  return isWithPrefix ? 'main' : sideKeyOf(name);
}

export const sideKeyOf = (name: string): SideKey => (/-IPv6$/i.test(name) ? 'IPv6' : 'main');
export const familyOf = (ip: string): IpFamily => (ip.includes(':') ? 'IPv6' : 'IPv4');

export function isOfBase(name: string, base: string): boolean {
  const text = name.toLowerCase();
  return text === base || text.startsWith(`${base}-`);
}

/** The base name in a name, in lower case; undefined for a name that is no Service's. */
export function baseOf(name: string): string | undefined {
  return /^a[0-9a-f]{31}(?=-|$)/i.exec(name)?.[0].toLowerCase();
}

export const poolName = (clusterName: string, family: IpFamily) => clusterName + (family === 'IPv6' ? '-IPv6' : '');

/** @param subnet the one that an annotation names */
export function frontendName(base: string, subnet: string | undefined, suffix: Side['suffix'] = ''): string {
  if (subnet === undefined) return base + suffix;
  const name = `${base}-${subnet}`;
  const cut = name.slice(0, maxLength);
  return (cut === name ? name : cut.replace(/[^\p{L}_]$/u, '_')) + suffix;
}

/** Where the name of a rule begins and ends. @param subnet the one that an annotation names */
export interface RuleNaming {
  readonly base: string;
  readonly subnet: string | undefined;
  readonly suffix?: Side['suffix'];
}

export function ruleName({ base, subnet, suffix = '' }: RuleNaming, protocol: Protocol, port: number): string {
  const rest = `-${protocol}-${port}`;
  if (subnet === undefined) return base + rest + suffix;
  return `${base}-${subnet.slice(0, maxLength - base.length - rest.length - 1)}${rest}${suffix}`;
}

/** @param prefix name of the prefix that it is taken from */
export function publicAddressName(
  clusterName: string,
  base: string,
  prefix: string | undefined,
  suffix: Side['suffix'] = '',
): string {
  return [clusterName, base, ...(prefix === undefined ? [] : [prefix])].join('-').slice(0, maxLength) + suffix;
}

/** @param sources and ports, in the order of their texts */
export function allowRuleName(
  family: IpFamily,
  protocol: string,
  sources: readonly string[],
  ports: readonly string[],
): string {
  const text = [protocol, sources.join(), ports.join()].join('_');
  return `k8s-azure-lb_allow_${family}_${createHash('md5').update(text).digest('hex')}`;
}

export const denyRuleName = (family: IpFamily) => `k8s-azure-lb_deny-all_${family}`;
export const isRuleName = (name: string) => /^k8s-azure-lb_(allow_IPv[46]_[0-9a-f]{32}|deny-all_IPv[46])$/i.test(name);

/** Name of the tag of a load balancer that says whose nodes are in that pool. */
export const poolTag = (pool: string) => `mooring.dev-pool-${pool.replace(/[<>%&\\?/]/g, '_')}`;
const takenOver = '/shared';
export const holderText = (cluster: string, isTakenOver: boolean) => cluster + (isTakenOver ? takenOver : '');

/** UID of the cluster whose nodes are in that pool. `isTakenOver`: others may have put theirs into it, too. */
export function holderIn(all: Tags, pool: string): { holder: string | undefined; isTakenOver: boolean } {
  const text = tagOf(all, poolTag(pool));
  return { holder: text?.replace(takenOver, ''), isTakenOver: text?.endsWith(takenOver) ?? true };
}

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
