import { type Body, flag, oneOf, optionalText, tagsOf, text, texts, whole, wrong } from './body.ts';
import type { LoadBalancerState } from './load-balancer.ts';
import { families, loadBalancerSpec, schemes } from './load-balancer-spec.ts';
import type { CloudModel } from './model.ts';
import type { Network } from './network.ts';
import { loadBalancerToWire, routeToWire } from './network-wire.ts';
import { quotaKinds } from './quotas.ts';
import { notFound } from './refused.ts';
import { routeSpec } from './route-model.ts';

const states: readonly LoadBalancerState[] = ['provisioning', 'active', 'failed', 'deleting'];

export interface AdminRequest {
  readonly method: string;
  readonly kind: string;
  readonly key: string | undefined;
  readonly action: string | undefined;
  readonly body: Body;
}

/** The admin API of load balancers, addresses and routes; admin.ts has its table. Undefined = no such path. */
export function adminNetwork(network: Network, model: CloudModel, request: AdminRequest): object | undefined {
  const { method, kind, key, action, body } = request;
  switch (kind) {
    case 'load-balancers':
      return loadBalancers(network, model, request);
    case 'addresses':
      return addresses(network, model, request);
    case 'routes':
      return routes(network, model, request);
    case 'volumes':
      return volumes(network, model, request);
    case 'quotas':
      if (method !== 'POST' || key !== undefined) return undefined;
      network.quotas.set(oneOf(body, 'kind', quotaKinds), optionalCount(body, 'limit'));
      return {};
    case 'load-balancer-timings':
      if (method !== 'POST' || key !== undefined) return undefined;
      network.loadBalancers.setTimings({
        ...(body['provisioningMs'] !== undefined && { provisioningMs: whole(body, 'provisioningMs', 0, 86_400_000) }),
        ...(body['deletingMs'] !== undefined && { deletingMs: whole(body, 'deletingMs', 0, 86_400_000) }),
      });
      return {};
    case 'members':
      if (method !== 'POST') return undefined;
      if (key === 'max') network.loadBalancers.members.setMax(optionalCount(body, 'count'));
      else if (key !== undefined && action === 'refuse')
        network.loadBalancers.members.refuse(key, body['refused'] === undefined || flag(body, 'refused'));
      else return undefined;
      return {};
    default:
      return undefined;
  }
}

function loadBalancers(network: Network, model: CloudModel, { method, key, action, body }: AdminRequest) {
  const { loadBalancers: all } = network;
  if (key === undefined) {
    if (method === 'GET')
      return { items: all.store.all().map((one) => withPlace(one, loadBalancerToWire(network, one))) };
    if (method !== 'POST') return undefined;
    return loadBalancerToWire(network, all.create(placeIn(model, body), loadBalancerSpec(body)).loadBalancer);
  }
  const found = all.store.get(key);
  if (!found) throw notFound('load-balancer', key);
  switch (`${method} ${action ?? ''}`) {
    case 'GET ':
      return withPlace(found, loadBalancerToWire(network, found));
    case 'DELETE ':
      all.forget(key);
      return {};
    case 'POST tags':
      return loadBalancerToWire(network, all.setTags(key, tagsOf(body)));
    case 'POST strip-tags':
      return loadBalancerToWire(network, all.stripTags(key));
    case 'POST state':
      return loadBalancerToWire(network, all.setState(key, oneOf(body, 'state', states)));
    case 'POST health': {
      const instanceId = optionalText(body, 'instanceId');
      const healthy = (body['healthy'] ?? null) === null ? undefined : flag(body, 'healthy');
      for (const pool of found.pools) {
        for (const member of pool.members) {
          if ((instanceId ?? member.instanceId) === member.instanceId)
            all.health.set(pool.id, member.instanceId, healthy);
        }
      }
      return loadBalancerToWire(network, found);
    }
    default:
      return undefined;
  }
}

function volumes({ volumes: all }: Network, model: CloudModel, { method, key, body }: AdminRequest) {
  if (key === undefined) {
    if (method === 'GET') return { items: all.all() };
    if (method !== 'POST') return undefined;
    return all.create({ id: text(body, 'id'), place: placeIn(model, body), zones: texts(body, 'zones') });
  }
  if (method !== 'DELETE') return undefined;
  all.forget(key);
  return {};
}

function addresses({ addresses: all }: Network, model: CloudModel, { method, key, action, body }: AdminRequest) {
  if (key === undefined) {
    if (method === 'GET') return { items: all.store.all() };
    if (method !== 'POST') return undefined;
    const family = oneOf(body, 'family', families, 'IPv4');
    const scheme = oneOf(body, 'scheme', schemes, 'external');
    return all.reserve(placeIn(model, body), { family, scheme, tags: tagsOf(body) }).address;
  }
  const found = all.store.get(key);
  if (!found) throw notFound('address', key);
  switch (`${method} ${action ?? ''}`) {
    case 'GET ':
      return found;
    case 'DELETE ':
      all.forget(key);
      return {};
    case 'POST tags':
      return all.setTags(key, tagsOf(body));
    default:
      return undefined;
  }
}

function routes(network: Network, model: CloudModel, { method, key, action, body }: AdminRequest) {
  const { routes: all } = network;
  if (key === undefined) {
    if (method === 'GET') return { items: all.store.all().map((one) => withPlace(one, routeToWire(network, one))) };
    if (method !== 'POST') return undefined;
    return routeToWire(network, all.create(placeIn(model, body), routeSpec(body)).route);
  }
  const found = all.store.get(key);
  if (!found) throw notFound('route', key);
  switch (`${method} ${action ?? ''}`) {
    case 'GET ':
      return withPlace(found, routeToWire(network, found));
    case 'DELETE ':
      all.delete(key);
      return {};
    case 'POST tags':
      return routeToWire(network, all.setTags(key, tagsOf(body)));
    case 'POST blackhole':
      return routeToWire(network, all.setBroken(key, body['blackhole'] === undefined || flag(body, 'blackhole')));
    default:
      return undefined;
  }
}

function withPlace({ place }: { readonly place: string }, shown: object): object {
  return { ...shown, place };
}

/** The place a body names; left out = the first one. */
function placeIn({ places: known }: CloudModel, body: Body): string {
  const place = optionalText(body, 'place') ?? known.keys().next().value;
  if (place === undefined || !known.has(place)) throw wrong('place', place, [...known.keys()].join(', '));
  return place;
}

function optionalCount(body: Body, field: string): number | undefined {
  return (body[field] ?? null) === null ? undefined : whole(body, field, 0, 1_000_000);
}
