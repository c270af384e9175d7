import type { SimulatedAddress } from './address-model.ts';
import type { Tags } from './body.ts';
import type { SimulatedLoadBalancer } from './load-balancer.ts';
import type { Network } from './network.ts';
import { Refused } from './refused.ts';
import type { Resource } from './resource-store.ts';
import type { SimulatedRoute } from './route-model.ts';
import type { Answer } from './wire.ts';

/** What one caller can see of one kind at one moment. `get` is never stale. */
export interface ResourceView<R> {
  /** In the order of creation. */
  list(): R[];
  get(id: string): R | undefined;
}

/** How an address stands in answers. */
export function addressToWire({ id, name, ip, family, scheme, tags, usedBy, createdAt }: SimulatedAddress) {
  return { id, name, ip, family, scheme, tags, usedBy, createdAt };
}

/**
 * How a load balancer stands in answers.
 * @param inlineMembers pools with more members show `memberCount` and `memberDigest` alone
 */
export function loadBalancerToWire(
  { loadBalancers }: Network,
  { id, name, tags, scheme, addresses, state, revision, createdAt, listeners, pools }: SimulatedLoadBalancer,
  inlineMembers = Number.POSITIVE_INFINITY,
) {
  const { health, members: rules } = loadBalancers;
  return {
    id,
    name,
    tags,
    scheme,
    addresses,
    state,
    revision,
    createdAt,
    listeners: listeners.map(({ clientToken: _, ...shown }) => shown),
    pools: pools.map(({ clientToken: _, members, ...shown }) => ({
      ...shown,
      memberCount: members.length,
      memberDigest: rules.digest(members),
      ...(members.length <= inlineMembers && {
        members: members.map((member) => ({ ...member, healthy: health.get(shown.id, member.instanceId) })),
      }),
    })),
  };
}

export function routeToWire({ routes }: Network, route: SimulatedRoute) {
  const { id, destination, instanceId, description, tags, createdAt } = route;
  return { id, destination, instanceId, description, tags, createdAt, blackhole: routes.blackhole(route) };
}

/** A filter `tag=key:value`; the key ends at the first colon. */
export function tagFilter(query: URLSearchParams): { key: string; value: string } | undefined {
  const given = query.get('tag');
  if (given === null) return undefined;
  const colon = given.indexOf(':');
  if (colon < 1) throw new Refused(400, 'invalid', `tag: ${JSON.stringify(given)}, expected key:value`);
  return { key: given.slice(0, colon), value: given.slice(colon + 1) };
}

export function hasTag(tags: Tags, filter: { key: string; value: string } | undefined): boolean {
  return filter === undefined || tags[filter.key] === filter.value;
}

const maxPage = 1000;

/** One page. The token is the serial of the last one served, so what comes or goes in between shifts no page. */
export function pageOf<R extends Resource>(
  records: readonly R[],
  query: URLSearchParams,
  toWire: (record: R) => unknown,
  { more = {}, most = maxPage }: { readonly more?: object; readonly most?: number } = {},
): Answer {
  const limit = wholeNumber(query, 'limit', 100);
  if (limit < 1 || limit > most) throw new Refused(400, 'invalid', `limit: ${limit}, expected 1 to ${most}`);
  const after = wholeNumber(query, 'pageToken', 0);
  const rest = records.filter(({ serial }) => serial > after);
  const items = rest.slice(0, limit);
  const next = rest.length > limit ? { nextPageToken: String(items.at(-1)!.serial) } : {};
  return { status: 200, value: { items: items.map(toWire), ...next, ...more } };
}

export function wholeNumber(query: URLSearchParams, field: string, fallback: number): number {
  const given = query.get(field);
  if (given === null) return fallback;
  if (!/^\d{1,12}$/.test(given)) {
    throw new Refused(400, 'invalid', `${field}: ${JSON.stringify(given)}, expected a whole number`);
  }
  return Number(given);
}
