import { type Owner, ownerTags } from '../../load-balancers.ts';
import { classicPrefix } from './names.ts';

/** Octavia's tags are texts; ours are `<key>=<value>`. */
export type Tags = readonly string[];

/** Beside the common ones. */
export const octaviaTags = {
  /** On a load balancer whose VIP is the address that its Service shows; put on when it is certain. */
  address: 'mooring.dev/address',
  hostname: 'mooring.dev/hostname',
  /** On listeners and pools: the port of the Service that they are for. */
  port: 'mooring.dev/port',
  /** On members. */
  providerId: 'mooring.dev/provider-id',
} as const;

export function tag(key: string, value: string): string {
  return `${key}=${value}`;
}

export function tagValue(tags: Tags, key: string): string | undefined {
  return tags.find((one) => one.startsWith(`${key}=`))?.slice(key.length + 1);
}

export function ownerTagsOf({ cluster, service }: Owner): string[] {
  return [tag(ownerTags.cluster, cluster), tag(ownerTags.service, service)];
}

export function ownedBy(tags: Tags, { cluster, service }: Owner): boolean {
  return tags.includes(tag(ownerTags.cluster, cluster)) && tags.includes(tag(ownerTags.service, service));
}

/** Whether tags say of a load balancer that it is, or was, of a cluster of ours. */
export function isMarked(tags: Tags): boolean {
  return [ownerTags.service, ownerTags.retained, ownerTags.cluster].some((key) => tagValue(tags, key) !== undefined);
}

/** Whether tags name an owner; the classic controller's names count. */
export function namesOwner(tags: Tags): boolean {
  return tags.some((one) => one.startsWith(`${ownerTags.service}=`) || one.startsWith(classicPrefix));
}

/** Values of the consent tag, which may be there several times. */
export function consentOf(tags: Tags): readonly string[] {
  const prefix = tag(ownerTags.consent, '');
  return tags.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length));
}

/** Tags without those of these keys. */
export function without(tags: Tags, keys: readonly string[]): string[] {
  return tags.filter((one) => !keys.some((key) => one.startsWith(`${key}=`)));
}

/** Of what becomes ours, or is ours again after it was retained. */
export function ourTags(tags: Tags, added: Tags = []): string[] {
  return [...new Set([...without(tags, [ownerTags.retained]), ...added])];
}

/** Of what stays without its Service. */
export function retainedTags(tags: readonly string[]): string[] {
  const service = tagValue(tags, ownerTags.serviceName);
  const rest = without(tags, [ownerTags.cluster, ownerTags.service, ownerTags.serviceName, ownerTags.retained]);
  return [...rest, tag(ownerTags.retained, service ?? 'unknown')];
}
