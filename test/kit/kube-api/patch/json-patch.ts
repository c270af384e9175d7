import fastJsonPatch, { type Operation } from 'fast-json-patch';
import { ApiError, badRequest } from '../api-error.ts';
import { isObject, type Json, type JsonObject, textOf } from '../json.ts';

const refused = () =>
  new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', { details: {} });

/**
 * RFC 6902 as the server applies it: `replace` of a missing map key adds it, every other failure is a 422 that does not
 * say which step failed. The given object stays as it is.
 */
export function applyJsonPatch(value: JsonObject, patch: Json): JsonObject {
  if (!Array.isArray(patch)) {
    throw badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  }
  let document = structuredClone(value);
  for (const step of patch) {
    if (!isObject(step)) throw refused();
    const operation = textOf(step['op']);
    const path = textOf(step['path']);
    if ((operation === 'remove' || operation === 'move') && !exists(document, textOf(step['from']) || path))
      throw refused();
    if (operation === 'copy' && !exists(document, textOf(step['from']))) throw refused();
    try {
      const result = fastJsonPatch.applyOperation(
        document,
        step as unknown as Operation,
        indexed(document, path),
        true,
      );
      document = result.newDocument;
    } catch {
      throw refused();
    }
  }
  if (!isObject(document)) throw refused();
  return document;
}

/** Whether the last step goes into a list, where the library has to check the index. */
function indexed(document: JsonObject, path: string): boolean {
  return Array.isArray(resolve(document, path.slice(0, path.lastIndexOf('/'))));
}

function exists(document: JsonObject, path: string): boolean {
  return resolve(document, path) !== undefined;
}

function resolve(document: Json, path: string): Json | undefined {
  let here: Json | undefined = document;
  for (const part of path.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(here)) here = here[Number(key)];
    else here = isObject(here) && Object.hasOwn(here, key) ? here[key] : undefined;
  }
  return here;
}
