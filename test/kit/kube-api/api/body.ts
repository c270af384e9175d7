import { parse as parseYaml } from 'yaml';
import { ApiError, badRequest, unsupportedMedia } from '../api-error.ts';
import { isObject, type Json, type JsonObject, parseJson, textOf } from '../json.ts';
import { groupVersion, type Resource } from '../store/resource.ts';
import { readProtobuf } from './protobuf.ts';

export const bodyLimit = 3 * 1024 * 1024;

export function mediaType(header: string | undefined): string {
  return (header ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

export function tooLarge(): ApiError {
  return new ApiError(413, 'RequestEntityTooLarge', `Request entity too large: limit is ${bodyLimit}`);
}

export function bodyText(body: string | Uint8Array | undefined): string {
  return typeof body === 'string' ? body : Buffer.from(body ?? '').toString('utf8');
}

/** The object a POST or PUT carries. Throws 400 or 415. @param kind what the path expects, for the message */
export function readObject(
  body: string | Uint8Array | undefined,
  contentType: string | undefined,
  kind: string,
): JsonObject {
  const type = mediaType(contentType);
  if (type === 'application/vnd.kubernetes.protobuf' && body instanceof Uint8Array) {
    const read = readProtobuf(body);
    if (read !== undefined) return read;
  }
  if (type !== '' && type !== 'application/json' && type !== 'application/yaml') {
    throw unsupportedMedia(
      'the body of the request was in an unknown format - accepted media types include: application/json, ' +
        'application/yaml, application/vnd.kubernetes.protobuf',
    );
  }
  const text = bodyText(body);
  const refused = (why: string) =>
    badRequest(`the object provided is unrecognized (must be of type ${kind}): ${why} (${hexStart(text)})`);
  let value: Json;
  try {
    value = type === 'application/yaml' ? (parseYaml(text) as Json) : parseJson(text);
  } catch (error) {
    throw refused(`couldn't get version/kind; json parse error: ${error instanceof Error ? error.message : 'invalid'}`);
  }
  if (!isObject(value)) throw refused("couldn't get version/kind; json parse error: not an object");
  return value;
}

function hexStart(text: string): string {
  const start = Buffer.from(text).subarray(0, 32).toString('hex');
  return text.length > 32 ? `${start} ...` : start;
}

/** Throws 400 when the body says it is another kind than the path is about; saying nothing is fine. */
export function checkKind(value: JsonObject, resource: Resource): void {
  const kind = textOf(value['kind']);
  const version = textOf(value['apiVersion']);
  if (kind === '' && version === '') return;
  const expected = groupVersion(resource);
  if ((kind === '' || kind === resource.kind) && (version === '' || version === expected)) return;
  const given = version || expected;
  if (kind !== '' && kind !== resource.kind) {
    throw badRequest(
      `${kind} in version "${shortVersion(given)}" cannot be handled as a ${resource.kind}: converting ` +
        `(${given}.${kind}) to (${resource.kind}): unknown conversion`,
    );
  }
  throw badRequest(`the API version in the data (${given}) does not match the expected API version (${expected})`);
}

function shortVersion(version: string): string {
  return version.slice(version.indexOf('/') + 1);
}

/** The body without its type, which the path implies. */
export function withoutType(value: JsonObject): JsonObject {
  const { kind: _kind, apiVersion: _version, ...rest } = value;
  return rest;
}
