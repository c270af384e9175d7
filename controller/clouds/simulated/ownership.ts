import { type Owner, ownerTags } from '../load-balancers.ts';
import type { Tags } from './answer-fields.ts';

export function ownedBy(tags: Tags, { cluster, service }: Owner): boolean {
  return tags[ownerTags.cluster] === cluster && tags[ownerTags.service] === service;
}

/** The owner that tags name, of this cluster. */
export function ownerIn(tags: Tags, cluster: string): Owner | undefined {
  const service = tags[ownerTags.service];
  return tags[ownerTags.cluster] === cluster && service !== undefined ? { cluster, service } : undefined;
}
