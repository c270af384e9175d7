import { isObject, type Json, type JsonObject } from '../json.ts';

/**
 * RFC 7386: null deletes, objects merge, everything else replaces. Unchanged parts are shared with the given object.
 */
export function applyMergePatch(value: JsonObject, patch: JsonObject): JsonObject {
  const result: JsonObject = { ...value };
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete result[key];
    else result[key] = merged(result[key], change);
  }
  return result;
}

function merged(value: Json | undefined, change: Json): Json {
  return isObject(change) ? applyMergePatch(isObject(value) ? value : {}, change) : change;
}
