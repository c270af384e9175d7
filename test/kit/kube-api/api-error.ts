import type { JsonObject } from './json.ts';

/** One fault found in an object, as the API server words it. */
export interface FieldError {
  readonly reason: string;
  readonly field: string;
  /** Text without the field's name, e.g. `Invalid value: "x": must be ...`. */
  readonly message: string;
}

/** A refusal that becomes the HTTP answer. */
export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: JsonObject | undefined;
  readonly headers: Record<string, string>;
  /** `metadata` of the Status object (holds `continue` after an expired page token). */
  readonly metadata: JsonObject;
  /** Answered as text/plain instead of a Status object. */
  readonly plain: boolean;
  /** How long the server would have waited before it answered, milliseconds. */
  readonly delayMs: number;

  constructor(
    code: number,
    reason: string,
    message: string,
    more: {
      details?: JsonObject | undefined;
      headers?: Record<string, string>;
      metadata?: JsonObject;
      plain?: boolean;
      delayMs?: number;
    } = {},
  ) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = more.details;
    this.headers = more.headers ?? {};
    this.metadata = more.metadata ?? {};
    this.plain = more.plain ?? false;
    this.delayMs = more.delayMs ?? 0;
  }

  /** The Status object clients see. */
  status(): JsonObject {
    const body: JsonObject = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: this.metadata,
      status: 'Failure',
      message: this.message,
    };
    if (this.reason !== '') body['reason'] = this.reason;
    if (this.details !== undefined) body['details'] = this.details;
    body['code'] = this.code;
    return body;
  }
}

/** What names a resource in messages: `nodes`, `leases.coordination.k8s.io`. */
export interface ResourceName {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

function qualified(name: string, group: string): string {
  return group === '' ? name : `${name}.${group}`;
}

function detailsOf(resource: ResourceName, name: string, kind: string): JsonObject {
  const details: JsonObject = {};
  if (name !== '') details['name'] = name;
  if (resource.group !== '') details['group'] = resource.group;
  if (kind !== '') details['kind'] = kind;
  return details;
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, 'BadRequest', message);
}

export function unauthorized(): ApiError {
  return new ApiError(401, 'Unauthorized', 'Unauthorized');
}

export function noSuchResource(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', { details: {} });
}

export function noSuchPath(): ApiError {
  return new ApiError(404, 'NotFound', '404 page not found\n', { plain: true });
}

export function methodNotAllowed(): ApiError {
  return new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {
    details: {},
  });
}

export function unsupportedMedia(message: string, details?: JsonObject): ApiError {
  return new ApiError(415, 'UnsupportedMediaType', message, { details });
}

export function notFound(resource: ResourceName, name: string): ApiError {
  return new ApiError(404, 'NotFound', `${qualified(resource.plural, resource.group)} "${name}" not found`, {
    details: detailsOf(resource, name, resource.plural),
  });
}

export function alreadyExists(resource: ResourceName, name: string): ApiError {
  return new ApiError(409, 'AlreadyExists', `${qualified(resource.plural, resource.group)} "${name}" already exists`, {
    details: detailsOf(resource, name, resource.plural),
  });
}

export const modifiedMessage =
  'the object has been modified; please apply your changes to the latest version and try again';

/** @param asKind preconditions of a delete name the Kind, everything else the resource */
export function conflict(resource: ResourceName, name: string, message: string, asKind = false): ApiError {
  const what = asKind ? resource.kind : resource.plural;
  return new ApiError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(what, resource.group)} "${name}": ${message}`,
    { details: detailsOf(resource, name, what) },
  );
}

export function forbidden(resource: ResourceName, name: string, message: string, causes?: JsonObject[]): ApiError {
  const what = qualified(resource.plural, resource.group);
  const details = detailsOf(resource, name, resource.plural);
  if (causes) details['causes'] = causes;
  const text = name === '' ? `${what} is forbidden: ${message}` : `${what} "${name}" is forbidden: ${message}`;
  return new ApiError(403, 'Forbidden', text, { details });
}

/** 422 with one cause per fault; `kind` may be that of an options object such as `CreateOptions`. */
export function invalid(resource: { group: string; kind: string }, name: string, errors: FieldError[]): ApiError {
  const texts = errors.map((error) => `${error.field}: ${error.message}`);
  const what = qualified(resource.kind, resource.group);
  const list = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  const details: JsonObject = {};
  if (name !== '') details['name'] = name;
  if (resource.group !== '') details['group'] = resource.group;
  if (resource.kind !== '') details['kind'] = resource.kind;
  details['causes'] = errors.map(({ reason, field, message }) => ({ reason, message, field }));
  return new ApiError(422, 'Invalid', `${what} "${name}" is invalid: ${list}`, { details });
}

/** 410 for lists: the asked-for moment is no longer held. */
export function expired(message: string, metadata: JsonObject = {}): ApiError {
  return new ApiError(410, 'Expired', message, { metadata });
}
