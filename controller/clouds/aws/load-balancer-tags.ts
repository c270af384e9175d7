import { type Owner, ownerTags } from '../load-balancers.ts';
import type { ClusterTags } from './cluster-tags.ts';

export type Tags = Readonly<Record<string, string>>;

/** On everything that the classic controller makes for a Service: `namespace/name`. */
export const serviceNameTag = 'kubernetes.io/service-name';

/**
 * Tags of a load balancer, its parts and its security group: ours, the classic controller's, and those of the Service.
 */
export function tagsFor(
  { owner, service }: { readonly owner: Owner; readonly service: string },
  cluster: Pick<ClusterTags, 'owned'>,
  additional: Tags = {},
): Tags {
  return {
    ...additional,
    [serviceNameTag]: service,
    ...cluster.owned,
    [ownerTags.cluster]: owner.cluster,
    [ownerTags.service]: owner.service,
    [ownerTags.serviceName]: service,
  };
}

/** Tags that say whose it is, where no more is known of the Service than what it carries. */
export function ownerTagsOf(owner: Owner, cluster: Pick<ClusterTags, 'owned'>, there: Tags): Tags {
  const service = there[ownerTags.serviceName] ?? there[serviceNameTag];
  if (service !== undefined) return tagsFor({ owner, service }, cluster);
  return { ...cluster.owned, [ownerTags.cluster]: owner.cluster, [ownerTags.service]: owner.service };
}

/** Whose it is, where it is of this cluster. */
export function ownerIn(tags: Tags, cluster: string): Owner | undefined {
  const service = tags[ownerTags.service];
  return tags[ownerTags.cluster] === cluster && service !== undefined ? { cluster, service } : undefined;
}

export function ownedBy(tags: Tags, { cluster, service }: Owner): boolean {
  return tags[ownerTags.cluster] === cluster && tags[ownerTags.service] === service;
}

/**
 * Whether the classic controller of this very cluster created it for this Service. Never true for a resource of ours,
 * nor without a cluster id.
 */
export function isClassicControllers(tags: Tags, service: string, cluster: ClusterTags): boolean {
  if (cluster.id === undefined || tags[ownerTags.cluster] !== undefined) return false;
  return tags[serviceNameTag] === service && cluster.owns(tags);
}

/** As the SDKs take them. */
export function sdkTags(tags: Tags): { Key: string; Value: string }[] {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}
