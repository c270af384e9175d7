import type { Found, Owner, Reference } from '../../../engine/resource.ts';
import { ownerTags, type Protocol } from '../../load-balancers.ts';
import { classicPrefix, isPieceName, serviceOfClassicName } from './names.ts';
import type { Listener, LoadBalancer, Pool } from './octavia-answer.ts';
import { operationId } from './octavia-work.ts';
import { namesOwner, octaviaTags, type Tags, tagValue } from './tags.ts';

/** The names of the kinds. */
export const octaviaKinds = {
  loadBalancer: 'load balancer',
  vipPort: 'VIP port',
  pool: 'pool',
  listener: 'listener',
} as const;

/** What all kinds of parts have; a replica of Octavia's database may lag behind for so long. */
export const ofLoadBalancer = {
  within: octaviaKinds.loadBalancer,
  inline: true,
  retryCreate: 'atOnce',
  settleMs: 10_000,
} as const;

/** Which transport a listener takes from its port number; two of one transport cannot have the same number. */
export function transportOf(protocol: string): Protocol {
  return protocol === 'UDP' || protocol === 'SCTP' ? protocol : 'TCP';
}

export function portKey({ protocol, port }: { readonly protocol: string; readonly port: number }): string {
  return `${transportOf(protocol)} ${port}`;
}

/** With the protocol in it: another one is another pool, made before the listener turns to it. */
export function poolKey(port: { readonly protocol: string; readonly port: number }, protocol: string): string {
  return `${portKey(port)} ${protocol}`;
}

/** A load balancer and all that is on it; `listeners` and `pools` undefined: they were not read. */
export interface Whole {
  readonly loadBalancer: LoadBalancer;
  readonly listeners?: readonly Listener[] | undefined;
  readonly pools?: readonly Pool[] | undefined;
}

/** @param cluster what other clusters have kept is none of ours to count; undefined = it is not known */
export function foundAll({ loadBalancer, listeners = [], pools = [] }: Whole, cluster?: string): readonly Found[] {
  const users = new Map(listeners.map((one) => [one.poolId, one]));
  const parts = [...listeners, ...pools].filter(({ tags }) => ownerOf(tags) !== undefined);
  // Parts carry the name that a load balancer of their Service has. One with another name was lent to it, also when its
  // consent has ended: a record, which users can write, would claim it otherwise.
  const isOfOthers = parts.length > 0 && !parts.some(({ tags }) => tags.includes(loadBalancer.name));
  const [main, ...rest] = foundLoadBalancer(loadBalancer, cluster);
  return [
    ...(main === undefined
      ? []
      : [{ ...main, ...(isOfOthers && main.owner === undefined && { consentForAnyCluster: true }) }]),
    ...rest,
    ...listeners.map((one) => foundListener(one, originOf('listener', one, loadBalancer))),
    ...pools.map((one) => {
      const user = users.get(one.id);
      return foundPool(one, originOfPool(one, user, loadBalancer), user);
    }),
  ];
}

/** A pool without marks is of its listener's Service, unless a person put it behind a listener of a lent one. */
function originOfPool(pool: Pool, user: Listener | undefined, loadBalancer: LoadBalancer): Origin {
  const origin = originOf('pool', pool, loadBalancer);
  const isMarked = ownerOf(pool.tags) !== undefined || tagValue(pool.tags, ownerTags.retained) !== undefined;
  if (user === undefined || isMarked) return origin;
  const owner = ownerOf(user.tags);
  if (owner === undefined) return origin.isClassic ? origin : originOf('listener', user, loadBalancer);
  const isOnItsOwn = ownerOf(loadBalancer.tags)?.service === owner.service;
  return isOnItsOwn || origin.isClassic ? { owner, isClassic: false } : { owner: undefined, isClassic: false };
}

const statuses: Readonly<Record<string, Found['status']>> = {
  ACTIVE: 'ready',
  ERROR: 'failed',
  PENDING_DELETE: 'deleting',
  DELETED: 'deleting',
};

/** The load balancer, and the port of its VIP. */
export function foundLoadBalancer(loadBalancer: LoadBalancer, cluster?: string): readonly Found[] {
  const { id, status: wire, tags, vipAddress, vipPortId } = loadBalancer;
  const status = statuses[wire] ?? 'pending';
  const owner = ownerOf(tags);
  const retained = owner === undefined && tagValue(tags, ownerTags.retained) !== undefined;
  const isOurs = cluster === undefined || tagValue(tags, ownerTags.cluster) === cluster;
  const isVip = tagValue(tags, octaviaTags.address) === 'vip';
  const main: Found<LoadBalancer> = {
    kind: octaviaKinds.loadBalancer,
    id,
    key: 'main',
    status,
    body: loadBalancer,
    ...(owner !== undefined && { owner }),
    ...(retained && isOurs && { retained: true }),
    ...(owner === undefined && tagValue(tags, ownerTags.consent) !== undefined && { consentForAnyCluster: true }),
    // A failed one serves no traffic.
    ...(isVip && vipAddress !== '' && status !== 'failed' && { address: vipAddress }),
    ...(status === 'pending' && { operation: operationId('change', id) }),
    ...(status === 'deleting' && { operation: operationId('delete', id) }),
  };
  if (vipPortId === '') return [main];
  // What Neutron knows the VIP by.
  const vip = { kind: octaviaKinds.vipPort, id: vipPortId, key: 'main', within: id, status: 'ready' } as const;
  return [main, { ...vip, body: undefined, ...(owner !== undefined && { owner }) }];
}

export function foundListener(listener: Listener, origin: Origin): Found<Listener> {
  const { id, loadBalancerId: within, poolId } = listener;
  const key = portKey(listener);
  return {
    kind: octaviaKinds.listener,
    id,
    within,
    slots: [`${within} ${key}`],
    status: 'ready',
    body: listener,
    refs: poolId === undefined ? [] : [poolReference(poolId)],
    ...whose(listener, origin, key),
  };
}

/** @param user the listener that sends to it */
export function foundPool(pool: Pool, origin: Origin, user?: Listener): Found<Pool> {
  const { id, loadBalancerId: within, tags, protocol } = pool;
  const tagged = tagValue(tags, octaviaTags.port)?.replace('-', ' ');
  const port = tagged ?? (user === undefined ? undefined : portKey(user));
  return {
    kind: octaviaKinds.pool,
    id,
    within,
    status: 'ready',
    body: pool,
    ...whose(pool, origin, port === undefined ? `left ${id}` : `${port} ${protocol}`),
  };
}

function poolReference(id: string): Reference {
  return { role: 'pool', kind: octaviaKinds.pool, id };
}

/** Without a known maker it has no key, and is left alone. */
function whose(
  { tags }: { readonly tags: Tags },
  { owner, isClassic }: Origin,
  key: string,
): Pick<Found, 'owner' | 'key' | 'retained'> {
  if (owner !== undefined) return { owner, key };
  if (tagValue(tags, ownerTags.retained) !== undefined) return { retained: true, ...(isClassic && { key }) };
  return isClassic ? { key } : {};
}

function ownerOf(tags: Tags): Owner | undefined {
  const [cluster, service] = [tagValue(tags, ownerTags.cluster), tagValue(tags, ownerTags.service)];
  return cluster === undefined || service === undefined ? undefined : { cluster, service };
}

/** Where a listener or pool comes from. */
export interface Origin {
  readonly owner: Owner | undefined;
  /** The classic controller made it for the Service that the load balancer is of. */
  readonly isClassic: boolean;
}

/**
 * Whose a listener or pool is: by its own tags. On a load balancer of ours, what the classic controller made for that
 * same Service is ours with it, and what it made for another one is of others.
 */
export function originOf(kind: 'listener' | 'pool', part: Listener | Pool, loadBalancer: LoadBalancer): Origin {
  const { tags, name } = part;
  const own = ownerOf(tags);
  if (own !== undefined) return { owner: own, isClassic: false };
  const isClassic =
    tags.includes(loadBalancer.name) || (!namesOwner(tags) && isPieceName(kind, name, loadBalancer.name));
  const isKept = tagValue(tags, ownerTags.retained) !== undefined;
  if (isClassic) return { owner: isKept ? undefined : ownerOf(loadBalancer.tags), isClassic };
  const other = tags.find((one) => one.startsWith(classicPrefix));
  const owner =
    other === undefined || isKept ? undefined : { cluster: '', service: serviceOfClassicName(other) ?? other };
  return { owner, isClassic };
}
