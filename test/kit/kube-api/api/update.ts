import { type ApiError, badRequest, conflict, invalid, modifiedMessage, notFound } from '../api-error.ts';
import { restrictKubelet } from '../auth/node-restriction.ts';
import { invalidValue } from '../field-error.ts';
import { deepEqual, type JsonObject, listOf, numberOf, objectOf, textOf, withField } from '../json.ts';
import { validateMetaUpdate } from '../kinds/object-meta.ts';
import { DecodeError, decode } from '../schema/decode.ts';
import type { Write } from '../store/resource.ts';
import type { Stored } from '../store/store.ts';
import { withoutType } from './body.ts';
import { cannotHandle, create } from './create.ts';
import { collectionOf, keyOf, makeStored, storedAs, type Target, viewOf } from './target.ts';
import { reportUnknown, type WriteOptions } from './write-options.ts';

export interface Updated {
  readonly stored: Stored;
  readonly created: boolean;
}

/**
 * PUT: the body takes the place of the stored object. Absent objects are created where the resource allows it.
 *
 * @param authorizeCreate throws when the user may not create this object
 */
export function replace(target: Target, body: JsonObject, options: WriteOptions, authorizeCreate: () => void): Updated {
  const { resource, name, namespace } = target;
  const given = objectOf(body['metadata']);
  const named = textOf(given['name']);
  if (named === '') {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  checkNames(target, given);
  if (collectionOf(target).items.has(keyOf(namespace, name))) {
    return { stored: update(target, () => body, options, false), created: false };
  }
  if (!resource.createOnUpdate || target.subresource !== '') throw notFound(resource, name);
  if (textOf(given['uid']) !== '') {
    const message = `Precondition failed: UID in precondition: ${textOf(given['uid'])}, UID in object meta: `;
    throw conflict(resource, name, message);
  }
  authorizeCreate();
  const fresh = { ...body, metadata: withField(given, 'resourceVersion', undefined) };
  return { stored: create(target, fresh, options), created: true };
}

/** PATCH: `change` turns the present object into the wanted one. */
export function patch(target: Target, change: (value: JsonObject) => JsonObject, options: WriteOptions): Stored {
  return update(target, change, options, true);
}

function checkNames({ name, namespace, resource }: Target, given: JsonObject): void {
  const named = textOf(given['name']);
  if (named !== '' && named !== name) {
    throw badRequest(`the name of the object (${named}) does not match the name on the URL (${name})`);
  }
  const home = textOf(given['namespace']);
  if (resource.namespaced && home !== '' && home !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

function update(
  target: Target,
  change: (value: JsonObject) => JsonObject,
  options: WriteOptions,
  isPatch: boolean,
): Stored {
  const { world, resource, name, namespace, subresource } = target;
  const collection = collectionOf(target);
  const stored = collection.items.get(keyOf(namespace, name));
  if (!stored) throw notFound(resource, name);
  const before = viewOf(resource, stored);
  const wanted = change(before);
  const metadata = carrySystemFields(target, objectOf(wanted['metadata']), before, isPatch);
  const decoded = decodeChange(target, { ...wanted, metadata }, before, options, isPatch);
  const merged = choose(decoded, before, target);
  const write: Write = { world, namespace, old: stored.value, subresource };
  const prepared = resource.prepare(resource.conversion ? resource.conversion.toStored(merged) : merged, write);
  resource.admit(prepared, write);
  restrictKubelet(target.user, resource, namespace, name, prepared, stored.value);
  const errors = [
    ...validateMetaUpdate(objectOf(prepared['metadata']), objectOf(stored.value['metadata'])),
    ...resource.validate(prepared, write),
  ];
  if (errors.length > 0) throw invalid(storedAs(resource), name, errors);
  if (deepEqual(prepared, stored.value)) return stored;
  const value = counted(prepared, stored.value, resource.generation);
  if (options.dryRun) return makeStored(namespace, name, value, stored.revision);
  if (lastHoldGone(value)) {
    // Watchers see the object as it was before its last finalizer went; the caller sees the old revision.
    const gone = world.store.remove(collection, stored.key, (revision) =>
      makeStored(namespace, name, stored.value, revision),
    );
    resource.settled(undefined, gone, world);
    return makeStored(namespace, name, value, stored.revision);
  }
  const next = world.store.put(collection, (revision) => makeStored(namespace, name, value, revision));
  resource.settled(next, stored, world);
  return next;
}

function carrySystemFields(target: Target, given: JsonObject, before: JsonObject, isPatch: boolean): JsonObject {
  const { resource, name } = target;
  const own = objectOf(before['metadata']);
  checkNames(target, given);
  const version = textOf(given['resourceVersion']);
  if (version !== '' && version !== own['resourceVersion']) throw conflict(resource, name, modifiedMessage);
  const uid = textOf(given['uid']);
  if (uid !== '' && uid !== own['uid']) {
    if (isPatch) throw invalid(resource, name, [invalidValue('metadata.uid', uid, 'field is immutable')]);
    const message = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${textOf(own['uid'])}`;
    throw conflict(resource, name, message);
  }
  const metadata: JsonObject = { ...given };
  for (const field of ['selfLink', 'managedFields']) delete metadata[field];
  for (const field of [
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'generation',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ]) {
    const kept = own[field];
    if (kept === undefined) delete metadata[field];
    else metadata[field] = kept;
  }
  return metadata;
}

function decodeChange(
  { resource, name }: Target,
  wanted: JsonObject,
  before: JsonObject,
  options: WriteOptions,
  isPatch: boolean,
): JsonObject {
  const refuse = (why: string): ApiError =>
    isPatch
      ? invalid({ group: '', kind: '' }, '', [invalidValue('patch', JSON.stringify(wanted), why)])
      : badRequest(cannotHandle(resource, why));
  const kind = textOf(wanted['kind']);
  if (isPatch && kind !== '' && kind !== resource.kind) {
    throw refuse(`converting (${kind}) to (${resource.kind}) ${name}: unknown conversion`);
  }
  try {
    const { value, unknown } = decode(resource.schema, withoutType(wanted), before);
    reportUnknown(unknown, options, refuse);
    return value;
  } catch (error) {
    if (error instanceof DecodeError) throw refuse(error.message);
    throw error;
  }
}

/** Which parts of the wanted object this path may change. */
function choose(decoded: JsonObject, before: JsonObject, { resource, subresource }: Target): JsonObject {
  const { metadata = {} } = decoded;
  switch (subresource) {
    case '':
      return resource.subresources.includes('status') ? withField(decoded, 'status', before['status']) : decoded;
    case 'status':
      return withField({ ...before, metadata }, 'status', decoded['status']);
    default:
      return withField(before, 'spec', decoded['spec']);
  }
}

function counted(value: JsonObject, old: JsonObject, counts: boolean): JsonObject {
  if (!counts || deepEqual(value['spec'], old['spec'])) return value;
  const metadata = objectOf(value['metadata']);
  return { ...value, metadata: { ...metadata, generation: numberOf(metadata['generation']) + 1 } };
}

/** A deleted object goes when nothing holds it any more. */
export function lastHoldGone(value: JsonObject): boolean {
  const metadata = objectOf(value['metadata']);
  if (metadata['deletionTimestamp'] === undefined) return false;
  if (numberOf(metadata['deletionGracePeriodSeconds']) !== 0) return false;
  const holds = [...listOf(metadata['finalizers']), ...listOf(objectOf(value['spec'])['finalizers'])];
  return holds.length === 0;
}
