/**
 * When a field is written out, as Go's struct tags say: `omit` = left out when zero (omitempty), `pointer` = kept
 * whenever it was given, zero or not, `always` = written even when absent.
 */
export type Presence = 'omit' | 'pointer' | 'always';

export type ScalarType =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'number'
  | 'time'
  | 'microtime'
  | 'quantity'
  | 'bytes'
  | 'intOrString'
  | 'any';

export interface ScalarSchema {
  readonly type: ScalarType;
  readonly presence: Presence;
}

export interface MapSchema {
  readonly type: 'map';
  readonly values: Schema;
  readonly presence: Presence;
}

export interface ListSchema {
  readonly type: 'list';
  readonly items: Schema;
  readonly presence: Presence;
  /** Strategic merge: items are matched by this key (objects) or united as a set (`merge` with scalars). */
  readonly mergeKey?: string;
  readonly merge: boolean;
}

export interface ObjectSchema {
  readonly type: 'object';
  /** Go's name of the struct; shows in decoding errors. */
  readonly name: string;
  readonly fields: ReadonlyMap<string, Schema>;
  /** Fields that are not named here are kept as they are. */
  readonly open: boolean;
  readonly presence: Presence;
}

export type Schema = ScalarSchema | MapSchema | ListSchema | ObjectSchema;

function scalar(type: ScalarType): ScalarSchema {
  return { type, presence: 'omit' };
}

export const string = scalar('string');
export const bool = scalar('bool');
export const int32 = scalar('int32');
export const int64 = scalar('int64');
export const time: ScalarSchema = { type: 'time', presence: 'pointer' };
export const microtime: ScalarSchema = { type: 'microtime', presence: 'pointer' };
export const quantity: ScalarSchema = { type: 'quantity', presence: 'pointer' };
export const bytes = scalar('bytes');
export const intOrString: ScalarSchema = { type: 'intOrString', presence: 'pointer' };
export const any: ScalarSchema = { type: 'any', presence: 'pointer' };

export function map(values: Schema): MapSchema {
  return { type: 'map', values, presence: 'omit' };
}

/** A list that strategic merge replaces whole. */
export function list(items: Schema): ListSchema {
  return { type: 'list', items, presence: 'omit', merge: false };
}

/** A list of objects that strategic merge matches by a key. */
export function keyed(mergeKey: string, items: Schema): ListSchema {
  return { type: 'list', items, presence: 'omit', mergeKey, merge: true };
}

/** A list of scalars that strategic merge unites. */
export function set(items: Schema): ListSchema {
  return { type: 'list', items, presence: 'omit', merge: true };
}

/** An object whose every field is known; others are dropped with a warning. Written whenever given. */
export function object(name: string, fields: Record<string, Schema>): ObjectSchema {
  return { type: 'object', name, fields: new Map(Object.entries(fields)), open: false, presence: 'pointer' };
}

/** An object of which only some fields matter here. */
export function open(name: string, fields: Record<string, Schema> = {}): ObjectSchema {
  return { ...object(name, fields), open: true };
}

export function pointer<S extends Schema>(schema: S): S {
  return { ...schema, presence: 'pointer' };
}

export function always<S extends Schema>(schema: S): S {
  return { ...schema, presence: 'always' };
}
