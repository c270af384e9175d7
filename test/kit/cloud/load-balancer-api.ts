import { type Body, bodyOf, changedTags, flag, text, texts, whole } from './body.ts';
import type { Guard } from './guard.ts';
import { carriesTag, type SimulatedLoadBalancer } from './load-balancer.ts';
import type { ListenerChange, PoolChange } from './load-balancer-parts.ts';
import {
  healthCheck,
  listenerSpec,
  loadBalancerSpec,
  membersOf,
  nameOf,
  poolSpec,
  sessionAffinity,
  sourceRanges,
} from './load-balancer-spec.ts';
import type { Network } from './network.ts';
import { answer, type NetworkCall, type NetworkView, seen, visibleIn } from './network-call.ts';
import { loadBalancerToWire, pageOf, tagFilter, wholeNumber } from './network-wire.ts';
import { notFound } from './refused.ts';
import type { Answer, WireRequest } from './wire.ts';

/** @param path after `load-balancers` */
export function recogniseLoadBalancers(
  network: Network,
  place: string,
  path: readonly (string | undefined)[],
  request: WireRequest,
): NetworkCall | undefined {
  const { method, query } = request;
  const { loadBalancers } = network;
  const [id, kind, piece, action, ...more] = path;
  const inline = () => wholeNumber(query, 'inlineMembers', Number.MAX_SAFE_INTEGER);
  const shown = (status: number, loadBalancer: SimulatedLoadBalancer) =>
    answer(status, loadBalancerToWire(network, loadBalancer, inline()));
  if (more.length > 0) return undefined;
  if (id === undefined && method === 'GET') {
    const name = query.get('name');
    const run = (view: NetworkView) => {
      const tag = tagFilter(query);
      const found = view.loadBalancers
        .list()
        .filter((one) => (name === null || one.name === name) && (!tag || carriesTag(one, tag.key, tag.value)));
      return pageOf(found, query, (one) => loadBalancerToWire(network, one, inline()));
    };
    return { operation: name === null ? 'load-balancers.list' : 'load-balancers.find', run };
  }
  if (id === undefined && method === 'POST') {
    const run = (view: NetworkView) => {
      const spec = loadBalancerSpec(bodyOf(request.body));
      const { loadBalancer, made } = loadBalancers.create(visibleIn(view, place), spec, { fails: view.endsFailed });
      return shown(made ? 201 : 200, loadBalancer);
    };
    return { operation: 'load-balancers.create', run };
  }
  if (id === undefined) return undefined;
  const one = (view: NetworkView) => seen(view.loadBalancers, 'load-balancer', id);
  if (kind === undefined) return ofTheWhole(method);
  const route = `${method} ${kind} ${piece === undefined ? '' : '{id}'} ${action ?? ''}`.trimEnd();
  const edit = pieceCalls[route];
  if (!edit) return undefined;
  const run = (view: NetworkView): Answer => {
    const before = one(view);
    const body = bodyOf(request.body);
    return shown(200, edit.run(network, before, piece ?? '', body, guardOf(body, query)));
  };
  return { operation: edit.operation, resource: id, run };

  function ofTheWhole(verb: string): NetworkCall | undefined {
    const resource = id!;
    switch (verb) {
      case 'GET':
        return { operation: 'load-balancers.get', resource, run: (view) => shown(200, one(view)) };
      case 'PATCH': {
        const change = (view: NetworkView) => {
          const before = one(view);
          const body = bodyOf(request.body);
          const changed = {
            ...(body['name'] !== undefined && { name: nameOf(body) }),
            ...(body['tags'] !== undefined && { tags: changedTags(before.tags, body) }),
            ...(body['addresses'] !== undefined && { addresses: texts(body, 'addresses') }),
          };
          return shown(200, loadBalancers.update(resource, changed, guardOf(body, query)));
        };
        return { operation: 'load-balancers.update', resource, run: change };
      }
      case 'DELETE': {
        const remove = (view: NetworkView) => {
          const left = loadBalancers.delete(one(view).id, guardOf({}, query));
          return left ? shown(202, left) : answer(200, {});
        };
        return { operation: 'load-balancers.delete', resource, run: remove };
      }
      default:
        return undefined;
    }
  }
}

interface PieceCall {
  readonly operation: string;
  run(network: Network, before: SimulatedLoadBalancer, piece: string, body: Body, guard: Guard): SimulatedLoadBalancer;
}

const pieceCalls: Readonly<Record<string, PieceCall>> = {
  'POST listeners': {
    operation: 'listeners.create',
    run({ loadBalancers }, before, _, body, guard) {
      const spec = listenerSpec(body);
      return knows(before.listeners, spec.clientToken) ? before : loadBalancers.addListener(before.id, spec, guard);
    },
  },
  'PATCH listeners {id}': {
    operation: 'listeners.update',
    run({ loadBalancers }, before, piece, body, guard) {
      const listener = before.listeners.find(({ id }) => id === piece);
      if (!listener) throw notFound('listener', piece);
      const change: ListenerChange = {
        ...(body['tags'] !== undefined && { tags: changedTags(listener.tags, body) }),
        ...(body['memberPort'] !== undefined && { memberPort: whole(body, 'memberPort', 1, 65_535) }),
        ...(body['sourceRanges'] !== undefined && { sourceRanges: sourceRanges(body) }),
        ...(body['proxyProtocol'] !== undefined && { proxyProtocol: flag(body, 'proxyProtocol') }),
        ...(body['tls'] !== undefined && { tls: flag(body, 'tls') }),
        ...(body['pool'] !== undefined && { pool: text(body, 'pool') }),
      };
      return loadBalancers.changeListener(before.id, piece, change, guard);
    },
  },
  'DELETE listeners {id}': {
    operation: 'listeners.delete',
    run: ({ loadBalancers }, before, piece, _, guard) => loadBalancers.deleteListener(before.id, piece, guard),
  },
  'POST pools': {
    operation: 'pools.create',
    run({ loadBalancers }, before, _, body, guard) {
      const spec = poolSpec(body);
      return knows(before.pools, spec.clientToken) ? before : loadBalancers.addPool(before.id, spec, guard);
    },
  },
  'PATCH pools {id}': {
    operation: 'pools.update',
    run({ loadBalancers }, before, piece, body, guard) {
      const pool = before.pools.find(({ id }) => id === piece);
      if (!pool) throw notFound('pool', piece);
      const change: PoolChange = {
        ...(body['tags'] !== undefined && { tags: changedTags(pool.tags, body) }),
        ...('healthCheck' in body && { healthCheck: healthCheck(body) }),
        ...('sessionAffinity' in body && { sessionAffinity: sessionAffinity(body) }),
      };
      return loadBalancers.changePool(before.id, piece, change, guard);
    },
  },
  'PUT pools {id} members': {
    operation: 'pools.set-members',
    run: ({ loadBalancers }, before, piece, body, guard) =>
      loadBalancers.setMembers(before.id, piece, membersOf(body), guard),
  },
  'DELETE pools {id}': {
    operation: 'pools.delete',
    run: ({ loadBalancers }, before, piece, _, guard) => loadBalancers.deletePool(before.id, piece, guard),
  },
};

function knows(pieces: readonly { readonly clientToken: string | undefined }[], token: string | undefined): boolean {
  return token !== undefined && pieces.some(({ clientToken }) => clientToken === token);
}

/** `ifRevision` in the body, or in the query where there is no body. */
function guardOf(body: Body, query: URLSearchParams): Guard {
  if (body['ifRevision'] !== undefined) return { ifRevision: whole(body, 'ifRevision', 1, Number.MAX_SAFE_INTEGER) };
  return query.has('ifRevision') ? { ifRevision: wholeNumber(query, 'ifRevision', 0) } : {};
}
