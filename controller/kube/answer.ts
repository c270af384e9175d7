import type { IncomingHttpHeaders } from 'node:http';
import { names } from '../../common/well-known.ts';
import { KubeError } from './api.ts';

/** The reason for a status where the answer has none (a proxy's page, the plain text of an overloaded server). */
const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** Converts an answer without success into a KubeError. `what` names the call in the message. */
export function errorOfAnswer(
  what: string,
  answer: { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: Buffer },
  nowMs: number,
): KubeError {
  const text = answer.body.toString('utf8');
  const status = parsedStatus(text);
  const asked = retryAfterMs(answer.headers['retry-after'], nowMs) ?? secondsToMs(status?.retryAfterSeconds);
  const message = status?.message ?? shorten(text);
  return new KubeError({
    status: answer.status,
    reason: status?.reason ?? reasons[answer.status] ?? 'Unknown',
    message: `${what}: ${answer.status}${message === '' ? '' : ` ${message}`}${hintOf(answer.status, message)}`,
    ...(asked === undefined ? {} : { retryAfterMs: asked }),
  });
}

/** Converts the object of an `ERROR` event of a watch into a KubeError. */
export function errorOfStatus(what: string, object: unknown): KubeError {
  const status = statusFields(object);
  const asked = secondsToMs(status?.retryAfterSeconds);
  const code = status?.code ?? 500;
  return new KubeError({
    status: code,
    reason: status?.reason ?? reasons[code] ?? 'Unknown',
    message: `${what}: ${code} ${status?.message ?? 'error event without a message'}`,
    ...(asked === undefined ? {} : { retryAfterMs: asked }),
  });
}

/**
 * A hint for a missing permission that the manifests grant: a Role or binding is missing, or older than the program.
 */
function hintOf(status: number, message: string): string {
  const ours = new RegExp(`"system:serviceaccount:[^:"]+:[^:"]*${names.controller}" cannot `);
  if (status !== 403 || !ours.test(message)) return '';
  return (
    '; apply the manifests of this version, which give this right ("mooring-controller check" lists what is ' +
    'missing)'
  );
}

interface StatusFields {
  readonly reason: string | undefined;
  readonly message: string | undefined;
  readonly code: number | undefined;
  readonly retryAfterSeconds: number | undefined;
}

function parsedStatus(text: string): StatusFields | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return statusFields(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function statusFields(value: unknown): StatusFields | undefined {
  if (!isRecord(value) || value['kind'] !== 'Status') return undefined;
  const details = isRecord(value['details']) ? value['details'] : {};
  return {
    reason: nonEmpty(value['reason']),
    message: nonEmpty(value['message']),
    code: typeof value['code'] === 'number' ? value['code'] : undefined,
    retryAfterSeconds: typeof details['retryAfterSeconds'] === 'number' ? details['retryAfterSeconds'] : undefined,
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function shorten(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ');
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}

/** A proxy may ask for hours, and a date of another clock too; caches would be as old. */
const longestAskedMs = 60_000;

function secondsToMs(seconds: number | undefined): number | undefined {
  return seconds !== undefined && seconds > 0 ? Math.min(seconds * 1000, longestAskedMs) : undefined;
}

/** Seconds or an HTTP date (RFC 9110, 10.2.3); undefined when absent or unreadable. */
function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), longestAskedMs);
}
