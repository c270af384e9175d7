import { ModelError, type SimulatedInstance } from './instance.ts';
import type { CloudModel } from './model.ts';
import type { Network } from './network.ts';
import { recogniseNetwork } from './network-api.ts';
import type { NetworkView } from './network-call.ts';
import { Refused } from './refused.ts';
import { type Answer, failure, type WireRequest } from './wire.ts';

/** What one caller can see of one region at one moment. */
export interface RegionView {
  /** In the order of creation. */
  list(): SimulatedInstance[];
  get(id: string): SimulatedInstance | undefined;
  named(name: string): SimulatedInstance[];
  readonly network: NetworkView;
}

/** A call of the cloud's API, recognised but not yet carried out. */
export interface ApiCall {
  readonly operation: string;
  readonly project: string;
  readonly region: string;
  readonly instance?: string;
  /** Id of the load balancer, address or route, where the path names one. */
  readonly resource?: string;
  run(view: RegionView): Answer;
}

const maxPage = 1000;
const maxIds = 1000;

/**
 * Recognises a request. Undefined = no such path.
 *
 * | request, under `/v1/projects/{p}/regions/{r}` | operation |
 * |---|---|
 * | `GET /` | `regions.get` |
 * | `GET /instances?limit=&pageToken=` | `instances.list` |
 * | `GET /instances?ids=a,b` and `POST /instances:lookup {ids}` | `instances.lookup` |
 * | `GET /instances?name=` | `instances.find` |
 * | `GET /instances/{id}` | `instances.get` |
 * | `POST /instances/{id}:start`, `:stop`, `:terminate` | `instances.start` and so on |
 * | `GET /load-balancers?limit=&pageToken=&tag=key:value&inlineMembers=` | `load-balancers.list` |
 * | `GET /load-balancers?name=` | `load-balancers.find` |
 * | `POST /load-balancers {name, tags?, scheme?, families?, ...}` | `load-balancers.create` |
 * | `GET /load-balancers/{id}` | `load-balancers.get` |
 * | `PATCH /load-balancers/{id} {name?, tags?, addresses?, ifRevision?}` | `load-balancers.update` |
 * | `DELETE /load-balancers/{id}?ifRevision=` | `load-balancers.delete` |
 * | `POST /load-balancers/{id}/listeners {listener, clientToken?, ifRevision?}` | `listeners.create` |
 * | `PATCH`, `DELETE /load-balancers/{id}/listeners/{id}` | `listeners.update`, `listeners.delete` |
 * | `POST /load-balancers/{id}/pools {pool, clientToken?, ifRevision?}` | `pools.create` |
 * | `PATCH /load-balancers/{id}/pools/{id} {tags?, healthCheck?, sessionAffinity?, ifRevision?}` | `pools.update` |
 * | `PUT /load-balancers/{id}/pools/{id}/members {members, ifRevision?}` | `pools.set-members` |
 * | `DELETE /load-balancers/{id}/pools/{id}` | `pools.delete` |
 * | `GET /addresses?limit=&pageToken=&tag=` | `addresses.list` |
 * | `GET /addresses?names=a,b` | `addresses.lookup`; at most 100, never stale |
 * | `GET /addresses?ip=` | `addresses.find` |
 * | `POST /addresses {clientToken?, name?, family?, scheme?, tags?}` | `addresses.create` |
 * | `GET`, `PATCH {tags}`, `DELETE /addresses/{id}` | `addresses.get`, `.update`, `.delete` |
 * | `GET /routes?limit=&pageToken=&tag=` | `routes.list`, up to 20,000 a page, and `quota {limit, used}` |
 * | `POST /routes {clientToken?, destination, instanceId, description?, tags?}` | `routes.create` |
 * | `GET`, `DELETE /routes/{id}` | `routes.get`, `routes.delete` |
 * | `GET /volumes?ids=a,b` | `volumes.lookup`; `{id, zones}` of each that exists |
 *
 * Every call carries `Authorization: Bearer <credential>`. Bodies and answers are JSON: `{items, nextPageToken?}` or
 * the resource.
 *
 * - A load balancer: `{id, name, tags, scheme: external|internal, addresses: [{id?, ip, family}], state:
 *   provisioning|active|failed|deleting, revision, createdAt, listeners, pools}`. In requests `families` are IPv4
 *   (default), IPv6, and `addresses` ids of reserved ones. A family without one gets an address that goes with the
 *   load balancer.
 * - A listener: `{id, name, tags, protocol: TCP|UDP|SCTP, port, memberPort, sourceRanges, proxyProtocol, tls, pool}`;
 *   in requests `pool` may also be a name. Optional: name, tags, sourceRanges (empty = all), proxyProtocol, tls.
 * - A pool: `{id, name, tags, healthCheck?: {port, path}, sessionAffinity?: {timeoutSeconds}, members: [{instanceId,
 *   weight: 0|1, healthy?}], memberCount, memberDigest}`. `inlineMembers=N`, on every call that returns load
 *   balancers, leaves `members` out of pools of more than N. `memberDigest` is that of `MemberSets.digest`.
 * - An address: `{id, name?, ip, family, scheme, tags, usedBy?, createdAt}`.
 * - A route: `{id, destination, instanceId, description, tags, createdAt, blackhole}`.
 * - `tag=` finds load balancers with the tag on themselves, a listener or a pool. `tags` in a PATCH name the changes:
 *   null removes one, the others stay.
 * - Changes of listeners and pools return the whole load balancer. Deletions of load balancers return 202 and what is
 *   left, or 200 and `{}` when it is gone; all other deletions 200. Creations return 201, or 200 and the existing
 *   resource that its `clientToken` created.
 * - Refusals: `{error: {code, message, ...}}`. 400 `invalid`, `invalid-member` (`ids`), `too-many-members` (`max`),
 *   `address-fixed`, `no-such-instance`; 401 `unauthorized`; 403 `forbidden`, `quota-exceeded` (`kind`, `limit`,
 *   `used`); 404 `<kind>-not-found`, `region-not-found`, `path-not-found`; 409 `name-taken` (`id`), `port-taken`
 *   (`id`), `address-in-use` (`id`), `pool-in-use` (`id`), `route-exists` (`id`), `revision-mismatch` (`revision`),
 *   `not-ready` (while provisioning or deleting); 429 `throttled`.
 */
export function recognise(model: CloudModel, network: Network, request: WireRequest): ApiCall | undefined {
  const match = /^\/v1\/projects\/([^/]+)\/regions\/([^/]+)(?:\/(.*))?$/.exec(request.path);
  if (!match) return undefined;
  const place = { project: decodeURIComponent(match[1]!), region: decodeURIComponent(match[2]!) };
  const rest = match[3] ?? '';
  const { method, query } = request;
  if (method === 'GET' && rest === '') {
    const zones = model.places.get(`${place.project}/${place.region}`)?.zones ?? [];
    return { ...place, operation: 'regions.get', run: () => ok({ ...place, zones }) };
  }
  if (method === 'GET' && rest === 'instances') {
    if (query.has('ids')) {
      const ids = (query.get('ids') ?? '').split(',').filter((id) => id !== '');
      return { ...place, operation: 'instances.lookup', run: (view) => lookup(view, ids) };
    }
    if (query.has('name')) {
      const name = query.get('name') ?? '';
      return { ...place, operation: 'instances.find', run: (view) => ok({ items: view.named(name).map(toWire) }) };
    }
    return { ...place, operation: 'instances.list', run: (view) => page(view, query) };
  }
  if (method === 'POST' && rest === 'instances:lookup') {
    return { ...place, operation: 'instances.lookup', run: (view) => lookup(view, idsOf(request.body)) };
  }
  const one = /^instances\/([^/:]+)(?::(start|stop|terminate))?$/.exec(rest);
  if (!one) {
    const call = recogniseNetwork(network, `${place.project}/${place.region}`, rest, request);
    return call && { ...place, ...call, run: (view) => call.run(view.network) };
  }
  const instance = decodeURIComponent(one[1]!);
  const action = one[2];
  if (method === 'GET' && action === undefined) {
    return { ...place, instance, operation: 'instances.get', run: (view) => get(view, instance) };
  }
  if (method === 'POST' && (action === 'start' || action === 'stop' || action === 'terminate')) {
    const run = (view: RegionView) => (view.get(instance) ? ok(toWire(model[action](instance))) : notFound(instance));
    return { ...place, instance, operation: `instances.${action}`, run };
  }
  return undefined;
}

/** How an instance stands in the API's answers. */
export function toWire({ project: _, serial: __, notices: ___, ...shown }: SimulatedInstance) {
  return shown;
}

export function modelFailure(error: unknown): Answer {
  if (error instanceof Refused) {
    const { code, message, details } = error;
    return { status: error.status, value: { error: { code, message, ...details } } };
  }
  if (!(error instanceof ModelError)) throw error;
  const status = error.kind === 'not-found' ? 404 : error.kind === 'conflict' ? 409 : 400;
  return failure(status, error.kind === 'not-found' ? 'instance-not-found' : error.kind, error.message);
}

function ok(value: unknown): Answer {
  return { status: 200, value };
}

function notFound(id: string): Answer {
  return failure(404, 'instance-not-found', `no instance ${JSON.stringify(id)}`);
}

function get(view: RegionView, id: string): Answer {
  const instance = view.get(id);
  return instance ? ok(toWire(instance)) : notFound(id);
}

function lookup(view: RegionView, ids: readonly string[]): Answer {
  if (ids.length > maxIds) return failure(400, 'invalid', `ids: ${ids.length} given, at most ${maxIds}`);
  return ok({ items: [...new Set(ids)].flatMap((id) => view.get(id) ?? []).map(toWire) });
}

function idsOf(body: string): string[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw new ModelError('invalid', 'body: not JSON');
  }
  const ids = (parsed as { ids?: unknown } | null)?.ids;
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) {
    throw new ModelError('invalid', 'ids: expected a list of strings');
  }
  return ids;
}

/** The token is the serial of the last instance served, so instances that come or go in between shift no page. */
function page(view: RegionView, query: URLSearchParams): Answer {
  const limit = Number(query.get('limit') ?? 100);
  if (!Number.isInteger(limit) || limit < 1 || limit > maxPage) {
    return failure(400, 'invalid', `limit: ${JSON.stringify(query.get('limit'))}, expected 1 to ${maxPage}`);
  }
  const token = query.get('pageToken') ?? '0';
  if (!/^\d{1,12}$/.test(token)) return failure(400, 'invalid', `pageToken: ${JSON.stringify(token)} is none of ours`);
  const after = Number(token);
  const items: SimulatedInstance[] = [];
  for (const instance of view.list()) {
    if (instance.serial <= after) continue;
    if (items.length === limit) return ok({ items: items.map(toWire), nextPageToken: String(items.at(-1)!.serial) });
    items.push(instance);
  }
  return ok({ items: items.map(toWire) });
}
