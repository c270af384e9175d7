import { bodyOf, changedTags, oneOf, optionalText, tagsOf } from './body.ts';
import { recogniseLoadBalancers } from './load-balancer-api.ts';
import { families, nameOf, schemes } from './load-balancer-spec.ts';
import type { Network } from './network.ts';
import { answer, type NetworkCall, type NetworkView, seen, visibleIn } from './network-call.ts';
import { addressToWire, hasTag, pageOf, routeToWire, tagFilter } from './network-wire.ts';
import { routeSpec, type SimulatedRoute } from './route-model.ts';
import type { WireRequest } from './wire.ts';

/** A route table is one resource: clouds answer it whole, or nearly. */
const maxRoutePage = 20_000;

/** @param place `project/region` @param rest of the path, without a slash at its start */
export function recogniseNetwork(
  network: Network,
  place: string,
  rest: string,
  request: WireRequest,
): NetworkCall | undefined {
  const [kind, id, ...deeper] = rest.split('/').map(decodeURIComponent);
  if (kind === 'load-balancers') return recogniseLoadBalancers(network, place, [id, ...deeper], request);
  if (deeper.length > 0) return undefined;
  if (kind === 'addresses') return recogniseAddresses(network, place, id, request);
  if (kind === 'routes') return recogniseRoutes(network, place, id, request);
  if (kind === 'volumes' && id === undefined) return recogniseVolumes(network, place, request);
  return undefined;
}

/** In one look-up. */
const maxNames = 100;

function recogniseAddresses(
  { addresses }: Network,
  place: string,
  id: string | undefined,
  { method, query, body }: WireRequest,
): NetworkCall | undefined {
  const names = query.get('names');
  if (id === undefined && method === 'GET' && names !== null) {
    const run = (view: NetworkView) => {
      const asked = [...new Set(names.split(','))].slice(0, maxNames);
      const found = view.blind ? [] : asked.flatMap((name) => addresses.named(place, name) ?? []);
      return answer(200, { items: found.map(addressToWire) });
    };
    return { operation: 'addresses.lookup', run };
  }
  if (id === undefined && method === 'GET') {
    const ip = query.get('ip');
    const run = (view: NetworkView) => {
      const filter = tagFilter(query);
      const shown = view.addresses.list().filter((one) => hasTag(one.tags, filter) && (ip === null || one.ip === ip));
      return pageOf(shown, query, addressToWire);
    };
    return { operation: ip === null ? 'addresses.list' : 'addresses.find', run };
  }
  if (id === undefined && method === 'POST') {
    const run = (view: NetworkView) => {
      const fields = bodyOf(body);
      const { address, made } = addresses.reserve(visibleIn(view, place), {
        name: fields['name'] === undefined ? undefined : nameOf(fields),
        family: oneOf(fields, 'family', families, 'IPv4'),
        scheme: oneOf(fields, 'scheme', schemes, 'external'),
        tags: tagsOf(fields),
        clientToken: optionalText(fields, 'clientToken'),
      });
      return answer(made ? 201 : 200, addressToWire(address));
    };
    return { operation: 'addresses.create', run };
  }
  if (id === undefined) return undefined;
  const one = (view: NetworkView) => seen(view.addresses, 'address', id);
  switch (method) {
    case 'GET':
      return { operation: 'addresses.get', resource: id, run: (view) => answer(200, addressToWire(one(view))) };
    case 'PATCH': {
      const run = (view: NetworkView) =>
        answer(200, addressToWire(addresses.setTags(id, changedTags(one(view).tags, bodyOf(body)))));
      return { operation: 'addresses.update', resource: id, run };
    }
    case 'DELETE': {
      const run = (view: NetworkView) => {
        addresses.release(one(view).id);
        return answer(200, {});
      };
      return { operation: 'addresses.delete', resource: id, run };
    }
    default:
      return undefined;
  }
}

function recogniseVolumes(
  { volumes }: Network,
  place: string,
  { method, query }: WireRequest,
): NetworkCall | undefined {
  const ids = query.get('ids');
  if (method !== 'GET' || ids === null) return undefined;
  const run = (view: NetworkView) => {
    const asked = view.blind ? [] : [...new Set(ids.split(','))];
    const items = asked.flatMap((id) => volumes.get(place, id) ?? []);
    return answer(200, { items: items.map(({ id, zones }) => ({ id, zones })) });
  };
  return { operation: 'volumes.lookup', run };
}

function recogniseRoutes(
  network: Network,
  place: string,
  id: string | undefined,
  { method, query, body }: WireRequest,
): NetworkCall | undefined {
  const { routes, quotas } = network;
  const toWire = (route: SimulatedRoute) => routeToWire(network, route);
  if (id === undefined && method === 'GET') {
    const run = (view: NetworkView) => {
      const filter = tagFilter(query);
      const limit = quotas.limit('routes');
      const more = limit === undefined || view.blind ? {} : { quota: { limit, used: routes.store.countIn(place) } };
      return pageOf(
        view.routes.list().filter(({ tags }) => hasTag(tags, filter)),
        query,
        toWire,
        { more, most: maxRoutePage },
      );
    };
    return { operation: 'routes.list', run };
  }
  if (id === undefined && method === 'POST') {
    const run = (view: NetworkView) => {
      const { route, made } = routes.create(visibleIn(view, place), routeSpec(bodyOf(body)));
      return answer(made ? 201 : 200, toWire(route));
    };
    return { operation: 'routes.create', run };
  }
  if (id === undefined) return undefined;
  const one = (view: NetworkView) => seen(view.routes, 'route', id);
  if (method === 'GET') return { operation: 'routes.get', resource: id, run: (view) => answer(200, toWire(one(view))) };
  if (method !== 'DELETE') return undefined;
  const run = (view: NetworkView) => {
    routes.delete(one(view).id);
    return answer(200, {});
  };
  return { operation: 'routes.delete', resource: id, run };
}
