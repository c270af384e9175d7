import { conflict, type FieldError, invalid, notFound } from '../api-error.ts';
import { restrictKubelet } from '../auth/node-restriction.ts';
import { notSupported } from '../field-error.ts';
import { at, type JsonObject, listOf, numberOf, objectOf, textOf } from '../json.ts';
import { namespaces, refuseDeletion } from '../kinds/namespace.ts';
import { pods } from '../kinds/pod.ts';
import { formatTime } from '../schema/time.ts';
import type { Stored } from '../store/store.ts';
import { collectionOf, keyOf, makeStored, type Target } from './target.ts';

export interface DeleteOptions {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  readonly propagationPolicy: string | undefined;
  readonly gracePeriodSeconds: number | undefined;
  readonly dryRun: boolean;
}

export interface Deleted {
  readonly stored: Stored;
  /** False while a finalizer or a grace period holds it. */
  readonly gone: boolean;
}

/** From the body of a DELETE, or its query where the body says nothing. Throws 422 for values that do not exist. */
export function readDeleteOptions(body: JsonObject, query: URLSearchParams): DeleteOptions {
  const policy = textOf(body['propagationPolicy']) || query.get('propagationPolicy') || undefined;
  const grace = body['gracePeriodSeconds'] ?? query.get('gracePeriodSeconds') ?? undefined;
  const dryRun = [...listOf(body['dryRun']).map(textOf), ...query.getAll('dryRun')].filter((one) => one !== '');
  const errors: FieldError[] = [];
  const policies = ['Foreground', 'Background', 'Orphan'];
  if (policy !== undefined && !policies.includes(policy)) {
    errors.push(notSupported('propagationPolicy', policy, [...policies, 'nil']));
  }
  if (dryRun.some((one) => one !== 'All')) errors.push(notSupported('dryRun', dryRun, ['All']));
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', errors);
  const preconditions = objectOf(body['preconditions']);
  return {
    uid: textOf(preconditions['uid']) || undefined,
    resourceVersion: textOf(preconditions['resourceVersion']) || undefined,
    propagationPolicy: policy,
    gracePeriodSeconds: grace === undefined || grace === null ? undefined : Number(grace),
    dryRun: dryRun.length > 0,
  };
}

/** Deletes, or marks as being deleted while something holds the object. Throws 404, and 409 for preconditions. */
export function remove(target: Target, options: DeleteOptions): Deleted {
  const { world, resource, namespace, name } = target;
  if (resource === namespaces) refuseDeletion(name);
  restrictKubelet(target.user, resource, namespace, name, undefined, undefined);
  const collection = collectionOf(target);
  const stored = collection.items.get(keyOf(namespace, name));
  if (!stored) throw notFound(resource, name);
  checkPreconditions(target, stored, options);
  const marked = mark(target, stored, options);
  if (marked !== undefined) {
    if (marked === stored.value) return { stored, gone: false };
    if (options.dryRun) return { stored: makeStored(namespace, name, marked, stored.revision), gone: false };
    const next = world.store.put(collection, (revision) => makeStored(namespace, name, marked, revision));
    resource.settled(next, stored, world);
    return { stored: next, gone: false };
  }
  if (options.dryRun) return { stored, gone: true };
  world.store.skip(resource.bookkeeping);
  const gone = world.store.remove(collection, stored.key, (revision) =>
    makeStored(namespace, name, stored.value, revision),
  );
  resource.settled(undefined, stored, world);
  return { stored: gone, gone: true };
}

function checkPreconditions({ resource, name }: Target, stored: Stored, options: DeleteOptions): void {
  const uid = textOf(at(stored.value, 'metadata', 'uid'));
  if (options.uid !== undefined && options.uid !== uid) {
    const message =
      `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might ` +
      'have been deleted and then recreated';
    throw conflict(resource, name, message, true);
  }
  const version = String(stored.revision);
  if (options.resourceVersion !== undefined && options.resourceVersion !== version) {
    const message =
      `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in ` +
      `record (${version}). The object might have been modified`;
    throw conflict(resource, name, message, true);
  }
}

/** The object marked as being deleted, the same object when it already is, or undefined when nothing holds it. */
function mark(target: Target, stored: Stored, options: DeleteOptions): JsonObject | undefined {
  const metadata = objectOf(stored.value['metadata']);
  const grace = graceOf(target, stored, options);
  const held = { Foreground: 'foregroundDeletion', Orphan: 'orphan' }[options.propagationPolicy ?? ''];
  const finalizers = listOf(metadata['finalizers']).map(textOf);
  if (held !== undefined && !finalizers.includes(held)) finalizers.push(held);
  const specFinalizers = listOf(at(stored.value, 'spec', 'finalizers'));
  if (finalizers.length === 0 && specFinalizers.length === 0 && grace === 0) return undefined;
  const already = metadata['deletionTimestamp'];
  if (already !== undefined && numberOf(metadata['deletionGracePeriodSeconds']) <= grace) return stored.value;
  const { ownerReferences, labels, annotations, finalizers: _, ...system } = metadata;
  const parts = Object.entries({ labels, annotations, ownerReferences }).filter(([, part]) => part !== undefined);
  const marked: JsonObject = {
    ...system,
    deletionTimestamp: formatTime(target.world.clock.now() + grace * 1000),
    ...(target.resource === namespaces ? {} : { deletionGracePeriodSeconds: grace }),
    ...(Object.fromEntries(parts) as JsonObject),
    ...(finalizers.length === 0 ? {} : { finalizers }),
  };
  const value = { ...stored.value, metadata: marked };
  if (target.resource !== namespaces) return value;
  return { ...value, status: { ...objectOf(value['status' as keyof typeof value]), phase: 'Terminating' } };
}

/** Seconds a pod gets to stop: none when it never ran anywhere or has ended. Other kinds get none. */
function graceOf({ resource }: Target, stored: Stored, options: DeleteOptions): number {
  if (resource !== pods) return 0;
  const phase = textOf(at(stored.value, 'status', 'phase'));
  if (textOf(at(stored.value, 'spec', 'nodeName')) === '' || phase === 'Succeeded' || phase === 'Failed') return 0;
  return options.gracePeriodSeconds ?? numberOf(at(stored.value, 'spec', 'terminationGracePeriodSeconds'));
}
