import { type AdoptionProof, type LoadBalancerRef, type Owner, ownerTags } from '../load-balancers.ts';
import type { Tags } from './answer-fields.ts';
import type { Address, LoadBalancer } from './load-balancer-answer.ts';
import { type SimulatedStep, stepOf } from './load-balancer-step.ts';
import type { Found, Subject } from './observed.ts';
import { ownedBy } from './ownership.ts';

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

/** For whom what is to be taken over, by what proof. */
export interface Adopting extends AdoptionProof {
  /** `namespace/name`. */
  readonly service: string;
  /** As recorded. */
  readonly id: string | undefined;
}

export function adoptingOf({ adopt, service, id }: LoadBalancerRef): Adopting | undefined {
  return adopt && { ...adopt, service, id };
}

/** What was taken over and does not carry our tags yet, as the cloud shows it. */
export interface Unmarked {
  readonly loadBalancer: LoadBalancer;
  readonly addresses: readonly Address[];
}

/** Name, tags and address are those of the classic controller's for this Service, and nobody else has marked it. */
export function isAdoptable({ name, tags, addresses }: LoadBalancer, adopting: Adopting): boolean {
  const { clusterName, service } = adopting;
  if (name !== classicName(clusterName, service) || !isClassic(tags, adopting)) return false;
  const ips = new Set(addresses.map(({ ip }) => ip));
  return adopting.addresses.length > 0 && adopting.addresses.every((address) => ips.has(address));
}

function isClassic(tags: Tags, { clusterName, service }: Adopting): boolean {
  const marked = [ownerTags.cluster, ownerTags.service, ownerTags.retained].some((tag) => tags[tag] !== undefined);
  return !marked && tags[classicTags.cluster] === clusterName && tags[classicTags.service] === service;
}

/** What was found with our tags on what is taken over. Undefined when something is ours already, or nothing may be taken over. */
export function adoption(
  owner: Owner,
  adopting: Adopting | undefined,
  found: Found,
): { readonly found: Found; readonly unmarked: Unmarked } | undefined {
  if (!adopting || found.loadBalancers.some(({ tags }) => ownedBy(tags, owner))) return undefined;
  const loadBalancer = found.loadBalancers.find((one) => isAdoptable(one, adopting));
  if (!loadBalancer) return undefined;
  const { service } = adopting;
  const held = new Set(loadBalancer.addresses.map(({ id }) => id));
  const addresses = found.addresses.filter(({ id, tags }) => held.has(id) && isClassic(tags, adopting));
  const marked = new Map(addresses.map((one) => [one.id, { ...one, tags: withOurs(one.tags, owner, service) }]));
  return {
    found: {
      ...found,
      loadBalancers: found.loadBalancers.map((one) => (one === loadBalancer ? asOurs(one, owner, service) : one)),
      addresses: found.addresses.map((one) => marked.get(one.id) ?? one),
    },
    unmarked: { loadBalancer, addresses },
  };
}

/** As it will be with our tags on it and on its parts; parts of others stay theirs. */
export function asOurs(loadBalancer: LoadBalancer, owner: Owner, service: string): LoadBalancer {
  const marked = <P extends { readonly tags: Tags }>(part: P): P =>
    part.tags[ownerTags.service] === undefined ? { ...part, tags: withOurs(part.tags, owner, service) } : part;
  return {
    ...loadBalancer,
    tags: withOurs(loadBalancer.tags, owner, service),
    listeners: loadBalancer.listeners.map(marked),
    pools: loadBalancer.pools.map(marked),
  };
}

function withOurs(tags: Tags, owner: Owner, service: string): Tags {
  return { ...tags, ...ourTags(owner, service) };
}

function ourTags({ cluster, service: uid }: Owner, service: string) {
  return { [ownerTags.cluster]: cluster, [ownerTags.service]: uid, [ownerTags.serviceName]: service };
}

/** Our tags, on the load balancer itself last: until then it is known by the marks of the classic controller. */
export function planMarks(subject: Subject, { loadBalancer, addresses }: Unmarked, service: string): SimulatedStep[] {
  const { id, name } = loadBalancer;
  const tags = ourTags(subject.owner, service);
  const change = { tags };
  const lacks = (part: { readonly tags: Tags }) => part.tags[ownerTags.service] === undefined;
  return [
    ...loadBalancer.listeners.filter(lacks).map((one) =>
      stepOf(subject, one.id, `tag listener ${one.protocol} ${one.port} of ${name} as ours`, {
        ...{ does: 'change listener', loadBalancer: id, id: one.id, change },
      }),
    ),
    ...loadBalancer.pools.filter(lacks).map((one) =>
      stepOf(subject, one.id, `tag pool ${one.name} of ${name} as ours`, {
        ...{ does: 'change pool', loadBalancer: id, id: one.id, change },
      }),
    ),
    ...markAddresses(subject, addresses, service),
    stepOf(subject, id, `tag load balancer ${name} as ours`, { does: 'change load balancer', id, tags }),
  ];
}

/** Static addresses outlive their load balancer, whose marks are all that tells of them. */
export function markAddresses(subject: Subject, addresses: readonly Address[], service: string): SimulatedStep[] {
  const tags = ourTags(subject.owner, service);
  return addresses.map(({ id, ip }) =>
    stepOf(subject, id, `tag address ${ip} as ours`, { does: 'change address', id, tags }),
  );
}
