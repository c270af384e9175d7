import { badRequest, methodNotAllowed, noSuchResource, notFound, unsupportedMedia } from '../api-error.ts';
import { headerOf } from '../auth/authenticate.ts';
import { isObject, type JsonObject, objectOf, parseJson, textOf } from '../json.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMerge } from '../patch/strategic-merge.ts';
import type { Resource } from '../store/resource.ts';
import type { Change, Stored } from '../store/store.ts';
import { chooseView, encodeList, encodeOne } from '../view/encode.ts';
import { type WatchLine, watchEncoder } from '../view/watch-encoder.ts';
import type { ApiAnswer, ApiRequest, WatchAnswer } from './answer.ts';
import { bodyText, checkKind, mediaType, readObject } from './body.ts';
import { create } from './create.ts';
import { readDeleteOptions, remove } from './delete.ts';
import { checkListOptions, list, readSelection } from './list.ts';
import { collectionOf, keyOf, type Target } from './target.ts';
import { patch, replace } from './update.ts';
import { watch } from './watch.ts';
import { readWriteOptions, type WriteOptions } from './write-options.ts';

const collectionVerbs = new Set(['list', 'watch', 'create', 'deletecollection']);
const objectVerbs = new Set(['get', 'watch', 'update', 'patch', 'delete']);

/** What the path of a resource allows. Throws 404 for unknown subresources, 405 for methods it has not. */
export function checkMethod(target: Target, verb: string, onCollection: boolean): void {
  const { resource, subresource } = target;
  if (subresource !== '') {
    if (!resource.subresources.includes(subresource) || subresource === 'token') throw noSuchResource();
    const allowed = subresource === 'status' ? ['get', 'update', 'patch'] : ['update'];
    if (!allowed.includes(verb)) throw methodNotAllowed();
    return;
  }
  if (!(onCollection ? collectionVerbs : objectVerbs).has(verb)) throw methodNotAllowed();
  if (verb === 'create' && resource.namespaced && target.namespace === '') throw methodNotAllowed();
}

export type LineCache = (resource: Resource, type: string, change: Change) => WatchLine;

/**
 * Answers a request about stored objects. Throws ApiError.
 *
 * @param authorizeCreate throws 403 when the user may not create the object of this name, as a PUT may
 */
export function answerObjects(
  target: Target,
  verb: string,
  request: ApiRequest,
  lines: LineCache,
  authorizeCreate: () => void,
): ApiAnswer | WatchAnswer {
  const { world, resource } = target;
  const { query } = request;
  const view = chooseView(headerOf(request.headers, 'accept'), query, verb);
  const now = world.clock.now();
  const one = (status: number, stored: Stored, options?: WriteOptions): ApiAnswer => ({
    status,
    headers: { 'content-type': 'application/json' },
    warnings: options?.warnings ?? [],
    body: encodeOne(resource, stored, view, now),
  });
  switch (verb) {
    case 'get': {
      const stored = collectionOf(target).items.get(keyOf(target.namespace, target.name));
      if (!stored) throw notFound(resource, target.name);
      return one(200, stored);
    }
    case 'list': {
      checkListOptions(query);
      const body = encodeList(resource, list(target, readSelection(target, query), query), view, now);
      return { status: 200, headers: { 'content-type': 'application/json' }, warnings: [], body };
    }
    case 'watch': {
      checkListOptions(query);
      const encoder = watchEncoder(resource, view, () => world.clock.now(), lines);
      const stream = watch(target, readSelection(target, query), query, encoder);
      return { status: 200, headers: { 'content-type': 'application/json' }, watch: stream };
    }
    case 'create': {
      const options = readWriteOptions(query, 'CreateOptions');
      const body = objectBody(request, resource);
      return one(201, create(target, body, options), options);
    }
    case 'update': {
      const options = readWriteOptions(query, 'UpdateOptions');
      const body = objectBody(request, resource);
      const { stored, created } = replace(target, body, options, authorizeCreate);
      return one(created ? 201 : 200, stored, options);
    }
    case 'patch': {
      const type = mediaType(headerOf(request.headers, 'content-type'));
      const apply = patchOf(type, request, resource);
      const options = readWriteOptions(query, 'PatchOptions');
      return one(200, patch(target, apply, options), options);
    }
    case 'delete':
      return answerDelete(target, request, one);
    default:
      return answerDeleteCollection(target, request, now);
  }
}

function objectBody(request: ApiRequest, resource: Resource): JsonObject {
  const body = readObject(request.body, headerOf(request.headers, 'content-type'), resource.kind);
  checkKind(body, resource);
  return body;
}

function patchOf(type: string, request: ApiRequest, resource: Resource): (value: JsonObject) => JsonObject {
  if (
    !['application/json-patch+json', 'application/merge-patch+json', 'application/strategic-merge-patch+json'].includes(
      type,
    )
  ) {
    // Server-side apply would need the books of who owns which field.
    throw unsupportedMedia('415: Unsupported Media Type', {});
  }
  const text = bodyText(request.body);
  const strategic = type === 'application/strategic-merge-patch+json';
  let body: ReturnType<typeof parseJson>;
  try {
    body = parseJson(text);
  } catch {
    const why = 'unexpected end of JSON input';
    throw badRequest(strategic ? why : `error decoding patch: ${why}`);
  }
  if (type === 'application/json-patch+json') return (value) => applyJsonPatch(typed(value, resource), body);
  if (!isObject(body)) {
    const why = 'json: cannot unmarshal array into Go value of type map[string]interface {}';
    throw badRequest(strategic ? why : `error decoding patch: ${why}`);
  }
  const change = body;
  return strategic
    ? (value) => applyStrategicMerge(value, change, resource.schema)
    : (value) => applyMergePatch(value, change);
}

function typed(value: JsonObject, resource: Resource): JsonObject {
  return { kind: resource.kind, apiVersion: resource.version, ...value };
}

function deleteOptions(request: ApiRequest) {
  const { body, headers, query } = request;
  const empty = body === undefined || body.length === 0;
  return readDeleteOptions(empty ? {} : readObject(body, headerOf(headers, 'content-type'), 'DeleteOptions'), query);
}

function answerDelete(
  target: Target,
  request: ApiRequest,
  one: (status: number, stored: Stored) => ApiAnswer,
): ApiAnswer {
  const { resource, name } = target;
  const { stored, gone } = remove(target, deleteOptions(request));
  if (!gone || resource.returnsDeleted) return one(200, stored);
  const group = resource.group === '' ? {} : { group: resource.group };
  const uid = textOf(objectOf(stored.value['metadata'])['uid']);
  const details = { name, ...group, kind: resource.plural, uid };
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
  return { status: 200, headers: { 'content-type': 'application/json' }, warnings: [], body: JSON.stringify(body) };
}

function answerDeleteCollection(target: Target, request: ApiRequest, now: number): ApiAnswer {
  const options = deleteOptions(request);
  const page = list(target, readSelection({ ...target, name: '' }, request.query), request.query);
  const items = page.items.map(
    (item) => remove({ ...target, namespace: item.namespace, name: item.name }, options).stored,
  );
  const view = { as: 'object', include: 'Metadata' } as const;
  const deleted = { revision: target.world.store.revision, items, next: undefined, remaining: undefined };
  const body = encodeList(target.resource, deleted, view, now);
  return { status: 200, headers: { 'content-type': 'application/json' }, warnings: [], body };
}
