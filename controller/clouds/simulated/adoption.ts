import type { Found } from '../../engine/resource.ts';
import type { AdoptionInput } from '../load-balancer-driver.ts';
import { ownerTags } from '../load-balancers.ts';
import { addressKey, kinds } from './found.ts';
import type { Address, LoadBalancer, Tags } from './load-balancer-answer.ts';

/** Tags that the classic controller of this cloud gives to what it makes. */
export const classicTags = {
  /** `--cluster-name`. */
  cluster: 'kubernetes.io/cluster',
  /** `namespace/name`. */
  service: 'kubernetes.io/service',
} as const;

/** The name that it gives to the load balancer of a Service. */
export function classicName(clusterName: string, service: string): string {
  return `kube-service-${clusterName}-${service.replace('/', '-')}`;
}

/**
 * The key of what the classic controller made for this Service: name, tags and addresses are those that it would have
 * given, and it has no foreign mark. Pure.
 */
export function adopts({ kind, body }: Found, input: AdoptionInput): string | undefined {
  const { service, proof } = input;
  const { clusterName, addresses } = proof;
  const isClassic = (tags: Tags) =>
    tags[classicTags.cluster] === clusterName &&
    tags[classicTags.service] === service &&
    [ownerTags.cluster, ownerTags.service, ownerTags.retained].every((tag) => tags[tag] === undefined);
  if (kind === kinds.address) {
    const address = body as Address;
    const user = input.found(kinds.loadBalancer).find(({ id }) => id === address.usedBy);
    // Only with its load balancer, or when that has gone already.
    const isFree = address.usedBy === undefined;
    const isTheirs =
      user !== undefined && (adopts(user, input) !== undefined || user.owner?.service === input.owner.service);
    if (!isClassic(address.tags) || !addresses.includes(address.ip)) return undefined;
    return isFree || isTheirs ? addressKey(address) : undefined;
  }
  if (kind !== kinds.loadBalancer) return undefined;
  const { name, tags, addresses: its } = body as LoadBalancer;
  const ips = new Set(its.map(({ ip }) => ip));
  const isOfService = name === classicName(clusterName, service) && isClassic(tags);
  return isOfService && addresses.length > 0 && addresses.every((ip) => ips.has(ip)) ? 'main' : undefined;
}
