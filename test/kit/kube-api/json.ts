/** Anything JSON can hold. Values inside the store are never changed in place: an update makes new objects. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json;
}

const emptyObject: JsonObject = Object.freeze({});

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as an object; an empty one for anything else. */
export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : emptyObject;
}

/** The value as a list; an empty one for anything else. */
export function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

/** The value as a string; '' for anything else. */
export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The value as a number; 0 for anything else. */
export function numberOf(value: Json | undefined): number {
  return typeof value === 'number' ? value : 0;
}

/** Walks down keys of objects; undefined where the way ends. */
export function at(value: Json | undefined, ...path: string[]): Json | undefined {
  let here = value;
  for (const key of path) here = isObject(here) ? here[key] : undefined;
  return here;
}

/** A copy of the object with one field set, or left out when the value is undefined. */
export function withField(object: JsonObject, key: string, value: Json | undefined): JsonObject {
  const copy: JsonObject = { ...object };
  if (value === undefined) delete copy[key];
  else copy[key] = value;
  return copy;
}

/** Same JSON value, whatever the order of keys. Shared parts cost nothing. */
export function deepEqual(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false;
    for (let i = 0; i < left.length; i += 1) if (!deepEqual(left[i], right[i])) return false;
    return true;
  }
  if (!isObject(left) || !isObject(right)) return false;
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  for (const key of keys) {
    if (!Object.hasOwn(right, key) || !deepEqual(left[key], right[key])) return false;
  }
  return true;
}

/** JSON.parse, with the type this folder uses. Throws SyntaxError. */
export function parseJson(text: string): Json {
  return JSON.parse(text) as Json;
}

/** How Go's encoding/json names the type of a value in its error messages. */
export function goTypeName(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value;
}
