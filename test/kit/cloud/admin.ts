import { adminNetwork } from './admin-network.ts';
import { modelFailure } from './api.ts';
import { type Body, bodyOf, text } from './body.ts';
import type { SimulatedCloud } from './cloud.ts';
import type { CredentialMode } from './credentials.ts';
import type { Fault } from './faults.ts';
import { type AddressChange, type InstanceSpec, ModelError } from './instance.ts';
import type { CloudModel, RebuildMode } from './model.ts';
import type { Rate } from './throttle.ts';
import { type Answer, failure, toReply, type WireHandler } from './wire.ts';

/**
 * The cloud's admin API, for other processes: what a person does at the cloud's console, and faults. Answers are
 * indented, since the tutorial has people read them.
 *
 * | request, under `/admin` | does |
 * |---|---|
 * | `GET /instances`, `GET /instances/{id}` | what there is, all projects |
 * | `POST /instances {count?, ...spec}` | creates; answers `{items}` |
 * | `POST /instances/{id}/stop`, `start`, `terminate`, `forget` | |
 * | `POST /instances/{id}/rebuild {mode?}` | `same-id` or `same-name` |
 * | `POST /instances/{id}/addresses {...}`, `type {type}`, `name {name}`, `tags {...}`, `notices {notices}` | |
 * | `GET`, `POST`, `DELETE /faults`, `DELETE /faults/{number}` | lists, adds `{number}`, clears |
 * | `GET`, `DELETE /calls` | `{calls, metadataCalls}`; resets both |
 * | `POST /credentials {credential, mode, project?}` | makes a credential known (with `project`) or changes its mode |
 * | `POST /throttle {project, rate?: {perSecond, burst}}` | sets or lifts a project's limit |
 * | `GET /load-balancers`, `/addresses`, `/routes`, each also with `/{id}` | what there is, all places |
 * | `POST /load-balancers`, `/addresses`, `/routes {place?, ...}` | creates one; a place is `project/region` |
 * | `DELETE /load-balancers/{id}`, `/addresses/{id}`, `/routes/{id}` | it is gone at once, whatever uses it |
 * | `POST /load-balancers/{id}/tags {tags}`, also of addresses and routes | these tags and no others |
 * | `POST /load-balancers/{id}/strip-tags` | no tags on it and its listeners and pools |
 * | `POST /load-balancers/{id}/state {state}` | |
 * | `POST /load-balancers/{id}/health {instanceId?, healthy?}` | of this member or of all; without `healthy` unknown |
 * | `POST /routes/{id}/blackhole {blackhole?}` | its packets are dropped, or no more |
 * | `GET`, `POST /volumes {id, zones, place?}`, `DELETE /volumes/{id}` | |
 * | `POST /quotas {kind, limit?}` | `load-balancers`, `addresses` or `routes` of each region; without `limit` none |
 * | `POST /load-balancer-timings {provisioningMs?, deletingMs?}` | of those made or deleted from now on |
 * | `POST /members/max {count?}` | of one pool; without `count` any number |
 * | `POST /members/{instance id}/refuse {refused?}` | the instance cannot become a member, or can again |
 */
export function adminService(cloud: SimulatedCloud): WireHandler {
  return async (request) => {
    const [, , kind, key, action] = request.path.split('/').map(decodeURIComponent);
    try {
      const body = bodyOf(request.body);
      const answer = route(cloud, request.method, kind ?? '', key, action, body);
      return toReply(answer ?? failure(404, 'path-not-found', `no ${request.method} ${request.path}`), 2);
    } catch (error) {
      return toReply(modelFailure(error));
    }
  };
}

function route(
  cloud: SimulatedCloud,
  method: string,
  kind: string,
  key: string | undefined,
  action: string | undefined,
  body: Body,
): Answer | undefined {
  const { model, faults, calls, metadataCalls } = cloud;
  switch (`${method} ${kind}`) {
    case 'GET instances': {
      if (key === undefined) return ok({ items: model.all() });
      const instance = model.get(key);
      return instance ? ok(instance) : failure(404, 'instance-not-found', `no instance ${JSON.stringify(key)}`);
    }
    case 'POST instances':
      if (key === undefined) return ok({ items: create(model, body) });
      return act(model, key, action ?? '', body);
    case 'GET faults':
      return ok({ items: faults.list() });
    case 'POST faults':
      return ok({ number: faults.add(body as unknown as Fault) });
    case 'DELETE faults':
      if (key === undefined) faults.clear();
      else if (!faults.remove(Number(key))) return failure(404, 'fault-not-found', `no fault ${key}`);
      return ok({});
    case 'GET calls':
      return ok({ calls: calls.snapshot(), metadataCalls: metadataCalls.snapshot() });
    case 'DELETE calls':
      calls.reset();
      metadataCalls.reset();
      return ok({});
    case 'POST credentials': {
      const mode = body['mode'] as CredentialMode | undefined;
      if (body['project'] === undefined) cloud.credentials.setMode(text(body, 'credential'), mode ?? 'ok');
      else cloud.credentials.set(text(body, 'credential'), text(body, 'project'), mode);
      return ok({});
    }
    case 'POST throttle':
      cloud.throttle.set(text(body, 'project'), rateOf(body['rate']));
      return ok({});
    default: {
      const answer = adminNetwork(cloud.network, model, { method, kind, key, action, body });
      return answer && ok(answer);
    }
  }
}

function act(model: CloudModel, id: string, action: string, body: Body): Answer | undefined {
  switch (action) {
    case 'stop':
    case 'start':
    case 'terminate':
      return ok(model[action](id));
    case 'forget':
      model.forget(id);
      return ok({});
    case 'rebuild':
      return ok(model.rebuild(id, rebuildMode(body['mode'])));
    case 'addresses':
      return ok(model.setAddresses(id, body as AddressChange));
    case 'type':
      return ok(model.setType(id, text(body, 'type')));
    case 'name':
      return ok(model.rename(id, text(body, 'name')));
    case 'tags':
      return ok(model.setTags(id, body as Record<string, string>));
    case 'notices': {
      const notices = body['notices'];
      if (!Array.isArray(notices)) throw new ModelError('invalid', `notices: expected a list`);
      return ok(model.setNotices(id, notices));
    }
    default:
      return undefined;
  }
}

function create(model: CloudModel, { count, ...spec }: Body) {
  if (count === undefined) return [model.create(spec as InstanceSpec)];
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > 100_000) {
    throw new ModelError('invalid', `count: ${JSON.stringify(count)}, expected 1 to 100000`);
  }
  return model.createMany(count, spec as InstanceSpec);
}

function rebuildMode(mode: unknown): RebuildMode {
  if (mode === undefined || mode === 'same-id' || mode === 'same-name') return mode ?? 'same-id';
  throw new ModelError('invalid', `mode: ${JSON.stringify(mode)}, expected same-id or same-name`);
}

function rateOf(rate: unknown): Rate | undefined {
  if (rate === undefined || rate === null) return undefined;
  const { perSecond, burst } = rate as Partial<Rate>;
  if (typeof perSecond !== 'number' || perSecond <= 0 || typeof burst !== 'number' || burst < 1) {
    throw new ModelError('invalid', `rate: ${JSON.stringify(rate)}, expected {perSecond > 0, burst >= 1}`);
  }
  return { perSecond, burst };
}

function ok(value: unknown): Answer {
  return { status: 200, value };
}
