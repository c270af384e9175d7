import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../common/cloud-error.ts';
import type { Clock } from '../../common/process/clock.ts';
import { createHttp, type Http, type HttpAnswer, HttpFailure } from '../../common/process/http.ts';
import { jsonSizeOf } from './json-size.ts';
import { withPlainHttp } from './plain-http.ts';

export interface MetadataRequest {
  readonly path: string;
  readonly method?: 'GET' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly timeoutMs?: number;
  /** Statuses besides success that the caller handles as answers. */
  readonly also?: readonly number[];
}

/**
 * The common part of all metadata services: plain HTTP on a near host, no proxy, no redirect, small answers. An answer
 * without success is a CloudError of the documented kind, except 404, which means "this VM has no such attribute".
 */
export interface MetadataClient {
  readonly baseUrl: string;
  /** The whole answer, with a status of success or one of the request's `also`. */
  answer(request: MetadataRequest): Promise<HttpAnswer>;
  /** The body; undefined for a 404. */
  text(request: MetadataRequest): Promise<string | undefined>;
  /** The body, parsed; undefined for a 404. */
  json(request: MetadataRequest): Promise<unknown>;
}

export interface MetadataClientOptions {
  readonly cloud: string;
  /** Scheme, host, port and perhaps a path prefix, without a slash at the end. */
  readonly baseUrl: string;
  readonly http: Http;
  readonly timeoutMs?: number;
  /** Default 256 KiB. */
  readonly maxBytes?: number;
  readonly clock: Clock;
}

/** Metadata services are one hop away on the host, so two seconds without an answer are a failure. */
const defaultTimeoutMs = 2000;

/** The agent's heap has 24 MiB. Answers are less than a tenth of this, except Google's, which contain all scripts. */
export const maxMetadataBytes = 256 * 1024;
const maxElements = 20_000;
const maxDepth = 64;

/**
 * The Http of metadata sources: a new connection per request, because some services (Nova's proxy) close idle ones
 * silently.
 */
export function createMetadataHttp(clock: Clock): Http {
  return withPlainHttp(createHttp({ clock }).http, clock);
}

export function createMetadataClient(options: MetadataClientOptions): MetadataClient {
  const { cloud, http, clock } = options;
  const baseUrl = options.baseUrl.replace(/\/+$/, '');

  async function exchange(request: MetadataRequest): Promise<HttpAnswer> {
    const { method = 'GET', path, headers = {}, signal, timeoutMs = options.timeoutMs ?? defaultTimeoutMs } = request;
    const operation = `${method} ${path}`;
    try {
      const maxBytes = options.maxBytes ?? maxMetadataBytes;
      return await http({ method, url: baseUrl + path, headers, signal, timeoutMs, maxBytes });
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw error;
      throw new CloudError({ cloud, operation, kind: failureKinds[error.kind], message: error.message, cause: error });
    }
  }

  async function answerOf(request: MetadataRequest): Promise<HttpAnswer> {
    const answer = await exchange(request);
    if ((answer.status >= 200 && answer.status < 300) || request.also?.includes(answer.status)) return answer;
    const operation = `${request.method ?? 'GET'} ${request.path}`;
    const retryAfterMs = parseRetryAfter(answer.header('retry-after'), clock.now());
    if (answer.status >= 300 && answer.status < 400) {
      const message = `redirect (${answer.status}) refused: metadata services do not redirect, something else answers`;
      throw new CloudError({ cloud, operation, kind: 'Invalid', message });
    }
    throw new CloudError({
      cloud,
      operation,
      kind: kindOfHttpStatus(answer.status),
      message: `status ${answer.status}`,
      retryAfterMs,
    });
  }

  async function text(request: MetadataRequest): Promise<string | undefined> {
    const answer = await answerOf({ ...request, also: [404] });
    return answer.status === 404 ? undefined : answer.text;
  }

  return {
    baseUrl,
    answer: answerOf,
    text,
    async json(request) {
      const body = await text(request);
      if (body === undefined) return undefined;
      return parseJson(cloud, `${request.method ?? 'GET'} ${request.path}`, body);
    },
  };
}

const failureKinds: Readonly<Record<HttpFailure['kind'], CloudErrorKind>> = {
  timeout: 'Timeout',
  aborted: 'Timeout',
  unreachable: 'Unavailable',
  'too-large': 'Invalid',
};

/**
 * The reviver of `JSON.parse`; `source` is the text of a number or string in the document (ES2026, in V8 since 11.4).
 */
export type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/**
 * Parses JSON. Throws a CloudError `Invalid`, without any of the text, when it is malformed or has more values than fit
 * into the agent's memory.
 */
export function parseJson(cloud: string, operation: string, text: string, reviver?: Reviver): unknown {
  const { elements, depth } = jsonSizeOf(text);
  if (elements > maxElements || depth > maxDepth) {
    const message =
      `JSON of ${elements} values, ${depth} levels deep, expected at most ${maxElements} values and at most ` +
      `${maxDepth} levels`;
    throw new CloudError({ cloud, operation, kind: 'Invalid', message });
  }
  try {
    return JSON.parse(text, reviver);
  } catch {
    // The parser's message quotes the document.
    throw new CloudError({
      cloud,
      operation,
      kind: 'Invalid',
      message: `answer of ${text.length} bytes is not JSON`,
    });
  }
}

/**
 * Parses a Retry-After header (seconds or an HTTP date) as milliseconds from now, at most an hour. Undefined when
 * absent or malformed.
 *
 * @param nowMs milliseconds since 1970
 */
export function parseRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 3_600_000) : undefined;
}
