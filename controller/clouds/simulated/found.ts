import type { Found, Owner } from '../../engine/resource.ts';
import { ownerTags } from '../load-balancers.ts';
import type { Address, Listener, LoadBalancer, Pool, Tags } from './load-balancer-answer.ts';

/** The names of the kinds. */
export const kinds = {
  address: 'address',
  loadBalancer: 'load balancer',
  pool: 'pool',
  listener: 'listener',
} as const;

/** A listener or pool, with what its load balancer says of it. */
export type Part<P> = P & { readonly within: LoadBalancer };

/** Under which key a Service has the address of that scheme and family. */
export function addressKey({ scheme, family }: Pick<Address, 'scheme' | 'family'>): string {
  return `${scheme} ${family}`;
}

export function listenerKey({ protocol, port }: Pick<Listener, 'protocol' | 'port'>): string {
  return `${protocol} ${port}`;
}

export function foundAddress(address: Address): Found<Address> {
  const { id, ip, tags } = address;
  return {
    kind: kinds.address,
    id,
    key: addressKey(address),
    slots: [`ip ${ip}`],
    status: 'ready',
    body: address,
    ...whoseOf(tags),
  };
}

const statuses = { active: 'ready', provisioning: 'pending', failed: 'failed', deleting: 'deleting' } as const;

/** The load balancer, its pools and its listeners. */
export function foundAll(loadBalancer: LoadBalancer): readonly Found[] {
  const { id, name, state, tags, addresses, listeners, pools } = loadBalancer;
  const isPending = state === 'provisioning';
  // A failed one serves no client; addresses that outlive it are those of the next one.
  const kept = state === 'failed' ? addresses.filter((one) => one.id === undefined) : addresses;
  const ip = kept[0]?.ip;
  const isKeptForOther = (one: Listener | Pool) => {
    return (
      whoseOf(one.tags).retained &&
      one.tags[ownerTags.retained] !== (tags[ownerTags.serviceName] ?? tags[ownerTags.retained])
    );
  };
  const part = <P extends Listener | Pool>(
    kind: string,
    one: P,
    key: string,
    more: Pick<Found, 'slots' | 'refs'>,
  ): Found<Part<P>> => ({
    kind,
    id: one.id,
    within: id,
    status: 'ready',
    body: { ...one, within: loadBalancer },
    ...whoseOf(one.tags),
    ...(!isKeptForOther(one) && { key }),
    ...more,
  });
  return [
    {
      kind: kinds.loadBalancer,
      id,
      key: 'main',
      slots: [`name ${name}`],
      status: statuses[state],
      refs: addresses.flatMap((one) => (one.id === undefined ? [] : refTo('address', kinds.address, one.id))),
      ...whoseOf(tags),
      ...(isPending && { operation: id }),
      ...(ip !== undefined && { address: ip }),
      body: loadBalancer,
    },
    ...pools.map((one) => part(kinds.pool, one, 'main', { slots: [`${id} pool ${one.name}`] })),
    ...listeners.map((one) => {
      const key = listenerKey(one);
      return part(kinds.listener, one, key, { slots: [`${id} ${key}`], refs: refTo('pool', kinds.pool, one.pool) });
    }),
  ];
}

function refTo(role: string, kind: string, id: string) {
  return [{ role, kind, id }];
}

function whoseOf(tags: Tags): Pick<Found, 'owner' | 'retained' | 'consentForAnyCluster'> {
  const { [ownerTags.cluster]: cluster, [ownerTags.service]: service, [ownerTags.retained]: retained } = tags;
  if (cluster !== undefined && service !== undefined) return { owner: { cluster, service } };
  return {
    ...(retained !== undefined && { retained: true }),
    ...(ownerTags.consent in tags && { consentForAnyCluster: true }),
  };
}

/** What is said of everything that is made for a Service. */
export function tagsFor({ cluster, service: uid }: Owner, service: string): Readonly<Record<string, string>> {
  return { [ownerTags.cluster]: cluster, [ownerTags.service]: uid, [ownerTags.serviceName]: service };
}
