import { goTypeName, isObject, type Json, type JsonObject } from '../json.ts';
import { normaliseQuantity } from './quantity.ts';
import type { ListSchema, MapSchema, ObjectSchema, ScalarSchema, Schema } from './schema.ts';
import { parseMicroTime, parseTime } from './time.ts';

/** A value of a wrong shape; the text is Go's. */
export class DecodeError extends Error {}

export interface Decoded {
  readonly value: JsonObject;
  /** Paths of fields the schema does not know; they were dropped. */
  readonly unknown: string[];
}

interface Walk {
  readonly unknown: string[];
  readonly path: string[];
  owner: string;
}

/**
 * Brings a parsed body into the form the server stores: known fields in the schema's order, zero values left out where
 * Go leaves them out, times and quantities in canonical form.
 *
 * @param old the stored object; every part equal to it is returned as that very part, so `value === old` means no
 * change
 * @throws DecodeError for a value of the wrong type
 */
export function decode(schema: ObjectSchema, value: Json, old?: JsonObject): Decoded {
  const walk: Walk = { unknown: [], path: [], owner: schema.name };
  const decoded = decodeObject(schema, value, old, walk);
  return { value: isObject(decoded) ? decoded : {}, unknown: walk.unknown };
}

function wrongType(value: Json, goType: string, walk: Walk): DecodeError {
  const path = walk.path.filter((segment) => !segment.startsWith('[')).join('.');
  return new DecodeError(
    `json: cannot unmarshal ${goTypeName(value)} into Go struct field ${walk.owner}.${path} of type ${goType}`,
  );
}

function decodeAny(schema: Schema, value: Json, old: Json | undefined, walk: Walk): Json | undefined {
  switch (schema.type) {
    case 'object':
      return decodeObject(schema, value, old, walk);
    case 'list':
      return decodeList(schema, value, old, walk);
    case 'map':
      return decodeMap(schema, value, old, walk);
    default:
      return decodeScalar(schema, value, old, walk);
  }
}

function zero(schema: Schema): Json {
  switch (schema.type) {
    case 'object':
      return decode(schema, {}).value;
    case 'list':
    case 'map':
    case 'time':
    case 'microtime':
    case 'any':
    case 'bytes':
      return null;
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'number':
      return 0;
    default:
      return '';
  }
}

function decodeObject(schema: ObjectSchema, value: Json, old: Json | undefined, walk: Walk): Json {
  if (!isObject(value)) throw wrongType(value, `v1.${schema.name}`, walk);
  const before = isObject(old) ? old : undefined;
  const outer = walk.owner;
  walk.owner = schema.name;
  const result: JsonObject = {};
  let known = 0;
  let written = 0;
  let same = before !== undefined;
  for (const [key, field] of schema.fields) {
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    if (given !== undefined) known += 1;
    const was = before?.[key];
    let kept: Json | undefined;
    if (given !== undefined && given === was && typeof given === 'object') kept = given;
    else if (given !== undefined && given !== null) {
      walk.path.push(key);
      kept = decodeAny(field, given, was, walk);
      walk.path.pop();
    }
    if (kept === undefined && field.presence === 'always') {
      kept = zero(field);
      if (isObject(kept) && isObject(was) && Object.keys(kept).length === Object.keys(was).length) {
        walk.path.push(key);
        kept = decodeAny(field, kept, was, walk);
        walk.path.pop();
      }
    }
    if (kept === undefined) continue;
    result[key] = kept;
    written += 1;
    if (kept !== was) same = false;
  }
  if (known < Object.keys(value).length) {
    for (const key of Object.keys(value)) {
      if (schema.fields.has(key)) continue;
      const extra = value[key];
      if (!schema.open) walk.unknown.push(joinPath([...walk.path, key]));
      else if (extra !== undefined && extra !== null) {
        result[key] = extra;
        written += 1;
        if (extra !== before?.[key]) same = false;
      }
    }
  }
  walk.owner = outer;
  return same && before !== undefined && Object.keys(before).length === written ? before : result;
}

function joinPath(path: string[]): string {
  return path.join('.').replaceAll('.[', '[');
}

function decodeList(schema: ListSchema, value: Json, old: Json | undefined, walk: Walk): Json | undefined {
  if (!Array.isArray(value)) throw wrongType(value, `[]${goType(schema.items)}`, walk);
  if (value.length === 0 && schema.presence === 'omit') return undefined;
  const before = Array.isArray(old) ? old : undefined;
  let same = before !== undefined && before.length === value.length;
  const result: Json[] = [];
  for (let index = 0; index < value.length; index += 1) {
    const item = value[index] ?? null;
    const was = before?.[index];
    walk.path.push(`[${index}]`);
    const kept = item === null ? zero(schema.items) : (decodeAny(schema.items, item, was, walk) ?? zero(schema.items));
    walk.path.pop();
    result.push(kept);
    if (kept !== was) same = false;
  }
  return same ? before : result;
}

function decodeMap(schema: MapSchema, value: Json, old: Json | undefined, walk: Walk): Json | undefined {
  if (!isObject(value)) throw wrongType(value, `map[string]${goType(schema.values)}`, walk);
  const keys = Object.keys(value).sort();
  if (keys.length === 0 && schema.presence === 'omit') return undefined;
  const before = isObject(old) ? old : undefined;
  let same = before !== undefined && Object.keys(before).length === keys.length;
  const result: JsonObject = {};
  for (const key of keys) {
    const item = value[key] ?? null;
    const was = before?.[key];
    walk.path.push(key);
    const kept =
      item === null ? zero(schema.values) : (decodeAny(schema.values, item, was, walk) ?? zero(schema.values));
    walk.path.pop();
    result[key] = kept;
    if (kept !== was) same = false;
  }
  return same ? before : result;
}

function goType(schema: Schema): string {
  if (schema.type === 'object') return `v1.${schema.name}`;
  return schema.type === 'number' ? 'float64' : schema.type;
}

function decodeScalar(schema: ScalarSchema, value: Json, old: Json | undefined, walk: Walk): Json | undefined {
  const omit = schema.presence === 'omit';
  switch (schema.type) {
    case 'any':
      return value;
    case 'string':
      if (typeof value !== 'string') throw wrongType(value, 'string', walk);
      return value === '' && omit ? undefined : value;
    case 'bool':
      if (typeof value !== 'boolean') throw wrongType(value, 'bool', walk);
      return !value && omit ? undefined : value;
    case 'int32':
    case 'int64':
    case 'number':
      if (typeof value !== 'number') throw wrongType(value, goType(schema), walk);
      if (schema.type !== 'number' && !Number.isInteger(value)) throw wrongType(value, schema.type, walk);
      return value === 0 && omit ? undefined : value;
    case 'bytes': {
      if (typeof value !== 'string') throw wrongType(value, '[]uint8', walk);
      const bad = value.search(/[^A-Za-z0-9+/=\r\n]/);
      if (bad >= 0 || value.replaceAll(/[\r\n]/g, '').length % 4 !== 0) {
        throw new DecodeError(`illegal base64 data at input byte ${bad >= 0 ? bad : value.length}`);
      }
      return value === '' && omit ? undefined : value;
    }
    case 'intOrString':
      if (typeof value !== 'number' && typeof value !== 'string') throw wrongType(value, 'intstr.IntOrString', walk);
      return value;
    default:
      return value === old ? value : decodeText(schema, value, walk);
  }
}

function decodeText(schema: ScalarSchema, value: Json, walk: Walk): Json | undefined {
  if (schema.type === 'quantity') {
    if (typeof value !== 'string' && typeof value !== 'number') throw wrongType(value, 'resource.Quantity', walk);
    const normal = normaliseQuantity(String(value));
    if (normal === undefined) {
      throw new DecodeError(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      );
    }
    return normal;
  }
  if (typeof value !== 'string') throw wrongType(value, schema.type === 'time' ? 'v1.Time' : 'v1.MicroTime', walk);
  const parsed = schema.type === 'time' ? parseTime(value) : parseMicroTime(value);
  if ('error' in parsed) throw new DecodeError(parsed.error);
  return parsed.text;
}
