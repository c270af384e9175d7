import { methodNotAllowed, noSuchPath, noSuchResource, notFound } from '../api-error.ts';
import { headerOf } from '../auth/authenticate.ts';
import { type Reviews, reviewKinds } from '../auth/reviews.ts';
import type { ServiceAccountTokens } from '../auth/service-account-token.ts';
import type { User } from '../auth/user.ts';
import { type JsonObject, objectOf } from '../json.ts';
import type { Registry } from '../kinds/registry.ts';
import type { World } from '../store/resource.ts';
import type { ApiAnswer, ApiRequest, WatchAnswer } from './answer.ts';
import { readObject } from './body.ts';
import { answerObjects, checkMethod, type LineCache } from './objects.ts';
import type { ResourceRequest } from './request-info.ts';
import type { Target } from './target.ts';

/** What a request about a resource may need. */
export interface Routes {
  readonly world: World;
  readonly registry: Registry;
  readonly tokens: ServiceAccountTokens;
  readonly reviews: Reviews;
  readonly lines: LineCache;
}

function created(body: JsonObject): ApiAnswer {
  return { status: 201, headers: { 'content-type': 'application/json' }, warnings: [], body: JSON.stringify(body) };
}

function answerReview(routes: Routes, info: ResourceRequest, request: ApiRequest, user: User): ApiAnswer {
  if (info.verb !== 'create' || info.name !== '') throw methodNotAllowed();
  const type = headerOf(request.headers, 'content-type');
  const body = readObject(request.body, type, reviewKinds[info.resource]?.kind ?? '');
  return created(routes.reviews.answer(info.resource, info.namespace, body, user));
}

function answerToken({ world, tokens }: Routes, target: Target, verb: string, request: ApiRequest): ApiAnswer {
  if (verb !== 'create') throw methodNotAllowed();
  const account = world.store.collection(target.resource.storage).items.get(`${target.namespace}/${target.name}`);
  if (!account) throw notFound(target.resource, target.name);
  const body = readObject(request.body, headerOf(request.headers, 'content-type'), 'TokenRequest');
  return created(tokens.issue(account, objectOf(body['spec'])));
}

/** Whether the path itself names an object, rather than a field selector of a collection. */
function namesObject(path: string, info: ResourceRequest): boolean {
  return info.name !== '' && !path.replace(/\/$/, '').endsWith(`/${info.resource}`);
}

/**
 * Finds out which resource is meant and answers. Throws ApiError: 404 and 405 for what is not served, and the rest.
 *
 * @param authorizeCreate throws 403 when the user may not create the object that is asked for, which a PUT may do
 */
export function answerResource(
  routes: Routes,
  info: ResourceRequest,
  request: ApiRequest,
  user: User,
  authorizeCreate: () => void,
): ApiAnswer | WatchAnswer {
  const { registry, world } = routes;
  const version = info.group === '' ? info.version : `${info.group}/${info.version}`;
  const review = reviewKinds[info.resource];
  if (review && `${review.group}/v1` === version) return answerReview(routes, info, request, user);
  const known = registry.groupVersions.some((one) => one.startsWith(`${info.group}/`));
  if (!registry.groupVersions.includes(version)) throw info.group === '' || known ? noSuchResource() : noSuchPath();
  const resource = registry.find(version, info.resource);
  const misplaced = resource && !resource.namespaced && info.namespace !== '' && info.resource !== 'namespaces';
  if (!resource || misplaced) throw noSuchResource();
  const named = namesObject(request.path, info);
  const target: Target = {
    world,
    resource,
    namespace: resource.namespaced ? info.namespace : '',
    name: named ? info.name : '',
    subresource: info.subresource,
    user,
  };
  if (info.subresource === 'token' && resource.subresources.includes('token')) {
    return answerToken(routes, target, info.verb, request);
  }
  checkMethod(target, info.verb, !named);
  return answerObjects(target, info.verb, request, routes.lines, authorizeCreate);
}
