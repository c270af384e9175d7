import { isDeepStrictEqual } from 'node:util';
import {
  isNotFound,
  type KubeApi,
  type KubeCall,
  KubeError,
  type KubeObject,
  type WatchCall,
  type WatchEvent,
} from '../kube/api.ts';
import { isMutating } from '../kube/fence.ts';
import { isObject, type Json, mergePatch, strategicPatch } from './apply-patch.ts';
import { isEdited, serverVersion, shownVersion } from './versions.ts';

/** An API that sends no write and shows its effect to the reads of this process. */
export interface KubeOverlay extends KubeApi {
  /** As `call`, without a record of it. For what the caller wants to see changed beforehand. */
  assume(call: KubeCall): Promise<void>;
}

type Edit = (object: KubeObject) => KubeObject;

/** What the writes of this process would make of one object. */
interface Draft {
  readonly uid: string;
  readonly edits: Edit[];
  /** Number of the last edit. */
  number: number;
  /** As it was shown last; undefined = deleted. */
  shown: KubeObject | undefined;
  /** The first state of an object that the server does not have. */
  readonly created: KubeObject | undefined;
}

interface Subscriber {
  readonly collection: string;
  show(path: string, event: WatchEvent): void;
}

/** Objects that only tell about others. Nothing reads them. */
const isEvent = (path: string) => /^\/api\/v1\/namespaces\/[^/]+\/events(\/|$)/.test(path);
/** Created for the answer alone. */
const isReview = (path: string) => /reviews$/.test(path);

/**
 * Reads and watches are those of `api`, with the writes of this process on top: patches and deletions apply to the
 * server's newest object, also when it changes later. Versions guard writes as on the server. A write that changes
 * nothing is no write. Created objects are shown by `get` alone.
 *
 * @param onWrite called for each write with an effect, and for each Event
 */
export function createKubeOverlay(api: KubeApi, onWrite: (call: KubeCall) => void): KubeOverlay {
  const drafts = new Map<string, Draft>();
  const subscribers = new Set<Subscriber>();
  /** Which version of the server each watch has reached. */
  const reached = new Map<string, string>();
  let numbers = 0;

  /** The server's object with the edits; undefined where they delete it. */
  function edited(path: string, raw: KubeObject): KubeObject | undefined {
    const draft = drafts.get(path);
    if (draft === undefined) return withVersion(raw, 0);
    if (draft.uid !== raw.metadata.uid) {
      // It was deleted and created again.
      drafts.delete(path);
      return withVersion(raw, 0);
    }
    if (draft.shown === undefined) return undefined;
    const object = draft.edits.reduce((before, edit) => edit(before), raw);
    return isOver(object) ? undefined : withVersion(object, draft.number, raw);
  }

  async function raw(path: string, call: Partial<KubeCall> = {}): Promise<KubeObject> {
    return drafts.get(path)?.created ?? api.call<KubeObject>({ ...call, verb: 'get', path });
  }

  async function list<T>(call: KubeCall): Promise<T> {
    const answer = await api.call<{ items?: readonly KubeObject[] | null; metadata?: Json }>(asOnServer(call));
    const { items, metadata } = answer;
    return {
      ...answer,
      metadata: { ...metadata, resourceVersion: shownVersion(String(metadata?.['resourceVersion'] ?? ''), 0) },
      items: (items ?? []).flatMap((item) => edited(pathOf(call.path, item), item) ?? []),
    } as T;
  }

  async function write(call: KubeCall, isRecorded: boolean): Promise<unknown> {
    if (isEvent(call.path)) {
      onWrite(call);
      return { metadata: { resourceVersion: '' } };
    }
    const path = call.path.replace(/\/status$/, '');
    let stored: KubeObject;
    try {
      stored = await raw(path);
    } catch (error) {
      if (call.verb !== 'update' || !isNotFound(error)) throw error;
      return create(path, call, isRecorded);
    }
    // No await from here on: edits that were made during the read are in it.
    const before = edited(path, stored);
    if (before === undefined) throw missing(call);
    assertGuards(call, before);
    const edit = editOf(call);
    const after = edit(before);
    if (isDeepStrictEqual(comparable(after), comparable(before))) return before;
    if (isRecorded) onWrite(call);
    numbers += 1;
    const draft = drafts.get(path) ?? {
      uid: stored.metadata.uid,
      edits: [],
      number: 0,
      shown: before,
      created: undefined,
    };
    drafts.set(path, draft);
    draft.edits.push(edit);
    draft.number = numbers;
    const next = withVersion(after, numbers, stored);
    draft.shown = isOver(next) ? undefined : next;
    tell(path, { type: draft.shown === undefined ? 'DELETED' : 'MODIFIED', object: next });
    return next;
  }

  function create(path: string, call: KubeCall, isRecorded: boolean): KubeObject {
    numbers += 1;
    const { metadata, ...rest } = call.body as KubeObject;
    const uid = `not-created-${numbers}`;
    const created = { ...rest, metadata: { ...metadata, uid, resourceVersion: '0' } };
    const shown = withVersion(created, numbers);
    drafts.set(path, { uid, edits: [], number: numbers, shown, created });
    if (isRecorded) onWrite(call);
    return shown;
  }

  /** A tick later, as an event of the server would come. */
  function tell(path: string, event: WatchEvent): void {
    queueMicrotask(() => {
      for (const subscriber of subscribers) subscriber.show(path, event);
    });
  }

  async function watch(call: WatchCall): Promise<void> {
    const collection = call.path;
    const subscriber: Subscriber = {
      collection,
      show(path, event) {
        if (isIn(collection, path) && isSelected(call.query, event.object)) call.onEvent(event);
      },
    };
    // Of edits that were made between the list and this watch, or between two watches.
    for (const [path, { shown: object }] of drafts)
      if (object !== undefined) subscriber.show(path, { type: 'MODIFIED', object });
    subscribers.add(subscriber);
    const name = `${call.path} ${call.query['fieldSelector'] ?? ''}`;
    const from = call.query['resourceVersion'] ?? '';
    // An edited object may be far older than what the watch has shown since.
    const resourceVersion = (isEdited(from) ? reached.get(name) : undefined) ?? serverVersion(from);
    reached.set(name, resourceVersion);
    try {
      await api.watch({
        ...call,
        query: { ...call.query, resourceVersion },
        onEvent(event) {
          const { metadata } = event.object as KubeObject;
          if (event.type !== 'ERROR') reached.set(name, metadata.resourceVersion);
          onEvent(call, event);
        },
      });
    } finally {
      subscribers.delete(subscriber);
    }
  }

  function onEvent(call: WatchCall, event: WatchEvent): void {
    const object = event.object as KubeObject;
    if (event.type === 'ERROR') call.onEvent(event);
    else if (event.type === 'BOOKMARK') call.onEvent({ type: 'BOOKMARK', object: withVersion(object, 0) });
    else onChange(call, event, object);
  }

  function onChange(call: WatchCall, event: WatchEvent, object: KubeObject): void {
    const path = pathOf(call.path, object);
    const draft = drafts.get(path);
    if (event.type === 'DELETED') {
      if (draft?.uid === object.metadata.uid) drafts.delete(path);
      call.onEvent({ type: 'DELETED', object: withVersion(object, 0) });
      return;
    }
    const now = edited(path, object);
    if (draft?.uid === object.metadata.uid) draft.shown = now;
    // Its deletion was told already.
    if (now !== undefined) call.onEvent({ ...event, object: now });
  }

  return {
    async call<T>(call: KubeCall): Promise<T> {
      if (isReview(call.path)) return api.call<T>(call);
      if (isMutating(call)) return (await write(call, true)) as T;
      if (call.verb === 'list') return list<T>(call);
      const object = edited(call.path, await raw(call.path, call));
      if (object === undefined) throw missing(call);
      return object as T;
    },
    watch,
    async assume(call) {
      await write(call, false);
    },
  };
}

/** How a write changes an object. */
function editOf({ verb, patch, body }: KubeCall): (object: KubeObject) => KubeObject {
  if (verb === 'delete')
    return (object) => ({
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: object.metadata.deletionTimestamp ?? 'now' },
    });
  const { metadata: { resourceVersion: _version, uid: _uid, ...metadata } = {} as Json, ...rest } = body as Json & {
    readonly metadata?: Json;
  };
  const change = { ...rest, ...(Object.keys(metadata).length > 0 && { metadata }) };
  if (verb === 'patch' && patch === 'strategic-merge') return (object) => strategicPatch(object, change) as KubeObject;
  if (verb === 'patch' && patch === 'merge') return (object) => mergePatch(object, change) as KubeObject;
  if (verb === 'update')
    return (object) => ({ ...change, metadata: { ...object.metadata, ...metadata } }) as unknown as KubeObject;
  throw new Error(`${verb} ${patch ?? ''}: expected update, delete, merge or strategic-merge`);
}

/** Deleted, and nothing holds it any more. */
function isOver({ metadata: { deletionTimestamp, finalizers = [] } }: KubeObject): boolean {
  return deletionTimestamp !== undefined && finalizers.length === 0;
}

function assertGuards({ verb, path, body }: KubeCall, { metadata }: KubeObject): void {
  const { metadata: guards, preconditions } = (body ?? {}) as { metadata?: Json; preconditions?: Json };
  for (const field of ['uid', 'resourceVersion'] as const) {
    const expected = guards?.[field] ?? preconditions?.[field];
    if (expected === undefined || expected === '' || expected === metadata[field]) continue;
    const message = `${verb} ${path}: ${field} ${String(expected)}, expected ${metadata[field]}`;
    throw new KubeError({ status: 409, reason: 'Conflict', message });
  }
}

function missing({ verb, path }: KubeCall): KubeError {
  return new KubeError({ status: 404, reason: 'NotFound', message: `${verb} ${path}: 404 not found` });
}

function withVersion(
  object: KubeObject,
  edit: number,
  of: { readonly metadata: Pick<KubeObject['metadata'], 'resourceVersion'> } = object,
): KubeObject {
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, resourceVersion: shownVersion(of.metadata.resourceVersion, edit) } };
}

/** Without what the server itself would set, or leave as it is where nothing else changes. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).filter(
    ([key]) => !/^(resourceVersion|last(Heartbeat|Transition)Time)$/.test(key),
  );
  return Object.fromEntries(fields.map(([key, held]) => [key, comparable(held)]));
}

function asOnServer<C extends Pick<KubeCall, 'query'>>(call: C): C {
  const version = call.query?.['resourceVersion'];
  return version === undefined ? call : { ...call, query: { ...call.query, resourceVersion: serverVersion(version) } };
}

/** The path of an object in a list or watch of this collection. */
function pathOf(collection: string, { metadata: { namespace, name } }: KubeObject): string {
  const at = collection.lastIndexOf('/');
  const within =
    namespace === undefined || namespace === '' || collection.includes('/namespaces/')
      ? collection
      : `${collection.slice(0, at)}/namespaces/${encodeURIComponent(namespace)}${collection.slice(at)}`;
  return `${within}/${encodeURIComponent(name)}`;
}

function isIn(collection: string, path: string): boolean {
  const parent = path.slice(0, path.lastIndexOf('/'));
  return parent === collection || parent.replace(/\/namespaces\/[^/]+/, '') === collection;
}

/** Whether an object matches the field selector of a watch. */
function isSelected({ fieldSelector = '' }: Readonly<Record<string, string>>, object: unknown): boolean {
  return fieldSelector.split(',').every((term) => {
    const [field = '', expected] = term.split('=');
    if (expected === undefined) return true;
    const value = field.split('.').reduce<unknown>((held, key) => (isObject(held) ? held[key] : undefined), object);
    return value === expected;
  });
}
