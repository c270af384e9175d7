import { ApiError, alreadyExists, badRequest, forbidden, invalid, notFound } from '../api-error.ts';
import { restrictKubelet } from '../auth/node-restriction.ts';
import { at, type JsonObject, objectOf, textOf } from '../json.ts';
import { namespaces } from '../kinds/namespace.ts';
import { generateName, validateNewMeta } from '../kinds/object-meta.ts';
import { DecodeError, decode } from '../schema/decode.ts';
import { formatTime } from '../schema/time.ts';
import type { Resource, Write } from '../store/resource.ts';
import type { Stored } from '../store/store.ts';
import { withoutType } from './body.ts';
import { collectionOf, keyOf, makeStored, storedAs, type Target } from './target.ts';
import { reportUnknown, type WriteOptions } from './write-options.ts';

/** Stores a new object. Throws ApiError; nothing is stored then. A dry run goes all the way but for storing. */
export function create(target: Target, body: JsonObject, options: WriteOptions): Stored {
  const { world, resource, namespace } = target;
  const given = objectOf(body['metadata']);
  checkPlace(target, given);
  if (textOf(given['resourceVersion']) !== '') {
    throw new ApiError(500, '', 'resourceVersion should not be set on objects to be created');
  }
  const decoded = decodeNew(target, body, options);
  const prefix = textOf(given['generateName']);
  const name = textOf(given['name']) || (prefix === '' ? '' : generateName(prefix, world.random));
  const metadata: JsonObject = { ...objectOf(decoded['metadata']) };
  for (const field of ['selfLink', 'managedFields', 'deletionTimestamp', 'deletionGracePeriodSeconds'])
    delete metadata[field];
  const own = {
    name,
    ...(prefix === '' ? {} : { generateName: prefix }),
    ...(namespace === '' ? {} : { namespace }),
    uid: world.uuid(),
    resourceVersion: '',
    ...(resource.generation ? { generation: 1 } : {}),
    creationTimestamp: formatTime(world.clock.now()),
  };
  const { labels, annotations, ownerReferences, finalizers, generation } = metadata;
  const rest = Object.entries({ labels, annotations, ownerReferences, finalizers }).filter(
    ([, part]) => part !== undefined,
  );
  const whole = {
    ...(generation === undefined ? {} : { generation }),
    ...own,
    ...(Object.fromEntries(rest) as JsonObject),
  };
  const write: Write = { world, namespace, old: undefined, subresource: '' };
  const view = { ...decoded, metadata: whole };
  const value = resource.prepare(resource.conversion ? resource.conversion.toStored(view) : view, write);
  resource.admit(value, write);
  restrictKubelet(target.user, resource, namespace, name, value, undefined);
  const meta = objectOf(value['metadata']);
  const errors = [...validateNewMeta(meta, resource.nameRule), ...resource.validate(value, write)];
  if (errors.length > 0) throw invalid(storedAs(resource), name, errors);
  const collection = collectionOf(target);
  if (collection.items.has(keyOf(namespace, name))) throw alreadyExists(resource, name);
  if (options.dryRun) return makeStored(namespace, name, value, 0);
  world.store.skip(resource.bookkeeping);
  const stored = world.store.put(collection, (revision) => makeStored(namespace, name, value, revision));
  resource.settled(stored, undefined, world);
  return stored;
}

/** The namespace must exist and take new content; the body must not name another one. */
function checkPlace({ world, resource, namespace }: Target, given: JsonObject): void {
  const named = textOf(given['namespace']);
  if (!resource.namespaced) return;
  if (named !== '' && named !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  const home = world.store.collection(namespaces.storage).items.get(namespace);
  if (!home) throw notFound(namespaces, namespace);
  if (at(home.value, 'metadata', 'deletionTimestamp') === undefined) return;
  const message = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  throw forbidden(resource, textOf(given['name']), message, [cause]);
}

function decodeNew({ resource }: Target, body: JsonObject, options: WriteOptions): JsonObject {
  try {
    const { value, unknown } = decode(resource.schema, withoutType(body));
    reportUnknown(unknown, options, (message) => badRequest(cannotHandle(resource, message)));
    return value;
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(cannotHandle(resource, error.message));
    throw error;
  }
}

export function cannotHandle(resource: Resource, why: string): string {
  return `${resource.kind} in version "${resource.version}" cannot be handled as a ${resource.kind}: ${why}`;
}
