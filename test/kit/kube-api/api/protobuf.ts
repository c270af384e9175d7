import { type JsonObject, listOf, objectOf, textOf } from '../json.ts';
import { type FieldType, type Message, protobufKinds } from './protobuf-kinds.ts';

/** `k8s\0`, then runtime.Unknown: 1 = {1: apiVersion, 2: kind}, 2 = the message itself. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

type Value = Buffer | number;

/** Every field in the order it stands. Undefined when it is no protobuf. */
function readFields(bytes: Buffer): [number, Value][] | undefined {
  const fields: [number, Value][] = [];
  let offset = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 50; shift += 7) {
      const byte = bytes[offset];
      if (byte === undefined) return -1;
      offset += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    return -1;
  };
  while (offset < bytes.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    if (tag < 0) return undefined;
    if (tag % 8 === 0) fields.push([number, varint()]);
    else if (tag % 8 === 2) {
      const length = varint();
      if (length < 0 || offset + length > bytes.length) return undefined;
      fields.push([number, bytes.subarray(offset, offset + length)]);
      offset += length;
    } else return undefined;
  }
  return fields;
}

function only(fields: readonly [number, Value][], number: number): Value | undefined {
  return fields.findLast(([given]) => given === number)?.[1];
}

function readMessage(bytes: Buffer, message: Message): JsonObject {
  const result: JsonObject = {};
  for (const [number, value] of readFields(bytes) ?? []) {
    const field = message[number];
    if (field === undefined) continue;
    const [name, type, repeated] = field;
    if (typeof type === 'object' && 'map' in type) {
      const entry = Buffer.isBuffer(value) ? (readFields(value) ?? []) : [];
      const into = objectOf(result[name]);
      result[name] = {
        ...into,
        [readText(only(entry, 1))]: readScalar(only(entry, 2) ?? Buffer.alloc(0), type.map) ?? '',
      };
      continue;
    }
    const read =
      typeof type === 'object'
        ? Buffer.isBuffer(value)
          ? readMessage(value, type.message)
          : {}
        : readScalar(value, type);
    if (read === undefined && repeated !== true) continue;
    result[name] = repeated === true ? [...listOf(result[name]), read ?? ''] : (read ?? '');
  }
  return result;
}

function readText(value: Value | undefined): string {
  return Buffer.isBuffer(value) ? value.toString('utf8') : '';
}

function readScalar(value: Value, type: Exclude<FieldType, object>): string | number | boolean | undefined {
  switch (type) {
    case 'string':
      // Empty strings are always written: they mean that nothing was set.
      return readText(value) || undefined;
    case 'bytes':
      return Buffer.isBuffer(value) ? value.toString('base64') : undefined;
    case 'bool':
      return value === 1;
    case 'int':
      return typeof value === 'number' ? value : undefined;
    case 'intOrString': {
      const fields = Buffer.isBuffer(value) ? (readFields(value) ?? []) : [];
      const number = only(fields, 2);
      if (only(fields, 1) === 1) return readText(only(fields, 3));
      return typeof number === 'number' ? number : 0;
    }
  }
}

/**
 * The object in a protobuf body of one of the kinds that kubectl's generators and reviews send; undefined for others.
 */
export function readProtobuf(body: Uint8Array): JsonObject | undefined {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (!bytes.subarray(0, 4).equals(magic)) return undefined;
  const envelope = readFields(bytes.subarray(4)) ?? [];
  const type = only(envelope, 1);
  const raw = only(envelope, 2);
  const meta = Buffer.isBuffer(type) ? readMessage(type, { 1: ['apiVersion', 'string'], 2: ['kind', 'string'] }) : {};
  const message = protobufKinds[textOf(meta['kind'])];
  if (message === undefined) return undefined;
  return { ...meta, ...(Buffer.isBuffer(raw) ? readMessage(raw, message) : {}) };
}
