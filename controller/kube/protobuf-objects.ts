import type { IncomingHttpHeaders } from 'node:http';
import type { WatchEvent } from './api.ts';
import { type Message, readMessage } from './protobuf.ts';

/** The media type of the API server's protobuf; every resource that is built into Kubernetes has it. */
export const protobufType = 'application/vnd.kubernetes.protobuf';

/** Whether an answer is protobuf: a server that cannot answer so answers with the next type of `Accept`. */
export function isProtobuf(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.startsWith(protobufType) ?? false;
}

/** What stands before each object. */
const magic = Buffer.from('k8s\0');
/** runtime.Unknown: the type, and the bytes of the object. */
const envelope: Message = {
  1: ['type', { one: { 1: ['apiVersion', 'string'], 2: ['kind', 'string'] } }],
  2: ['raw', 'bytes'],
};
const status: Message = {
  2: ['status', 'string'],
  3: ['message', 'string'],
  4: ['reason', 'string'],
  5: ['details', { one: { 5: ['retryAfterSeconds', 'int'] } }],
  6: ['code', 'int'],
};
const watchEvent: Message = { 1: ['type', 'string'], 2: ['object', { one: { 1: ['raw', 'bytes'] } }] };
const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

/** The fields of a list whose items have these. */
export function listOf(item: Message): Message {
  return {
    1: ['metadata', { one: { 2: ['resourceVersion', 'string'], 3: ['continue', 'string'] } }],
    2: ['items', { list: item }],
  };
}

/** Reads one object, or the Status in its place. Throws an Error that names the fault. */
export function readObject(bytes: Buffer, message: Message): Record<string, unknown> {
  if (!bytes.subarray(0, magic.length).equals(magic)) throw new Error('bytes without the mark of an object');
  const { type, raw } = readMessage(bytes.subarray(magic.length), envelope);
  const { kind, apiVersion } = (type ?? {}) as Readonly<Record<string, unknown>>;
  const fields = Buffer.isBuffer(raw) ? readMessage(raw, kind === 'Status' ? status : message) : {};
  return { kind, apiVersion, ...fields };
}

/** Reads one frame of a watch. Throws an Error that names the fault. */
export function readWatchFrame(frame: Buffer, message: Message): WatchEvent {
  const { type, object } = readMessage(frame, watchEvent);
  const { raw } = (object ?? {}) as Readonly<Record<string, unknown>>;
  if (!types.has(type)) throw new Error('a frame is no watch event: type is none of ADDED, MODIFIED, DELETED, ...');
  if (!Buffer.isBuffer(raw)) throw new Error(`a watch event of type ${type} has no object`);
  return { type, object: readObject(raw, message) } as WatchEvent;
}
