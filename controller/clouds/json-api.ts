import type { CloudError } from '../../common/cloud-error.ts';
import type { HttpAnswer } from '../../common/process/http.ts';
import { type AnswerFields, answerFields, parseAnswer } from './answer-fields.ts';
import type { CloudContext } from './cloud.ts';
import { openConnections, type WrapHttp } from './connections.ts';
import { type CountedHttpOptions, createCountedHttp } from './counted-http.ts';
import type { Permit } from './permit.ts';
import { createRateLimiter, type RateLimiter } from './rate-limiter.ts';
import type { CallLimits } from './token-bucket.ts';
import type { Urgency } from './urgency.ts';

export interface ApiRequest {
  /** From the base URL, with a slash first. Ids stand in it, numbers or UUIDs; names only with an `operation`. */
  readonly path: string;
  /** For metrics and errors: no ids and names in it. Default: method and path, with `{id}` for each id. */
  readonly operation?: string;
  /** Default `GET`. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Names and values; a name may repeat. */
  readonly query?: readonly (readonly [string, string])[];
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Default `need`, and `change` for what has a permit. */
  readonly urgency?: Urgency | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Of a request that changes something: called right before it is sent. */
  readonly permit?: Permit | undefined;
}

/**
 * Calls to an API that speaks JSON. Each is one HTTP exchange with a deadline, never repeated. Fails with a CloudError,
 * or what the permit throws.
 */
export interface JsonApi {
  /** The answer as it is; undefined for an empty one (204). */
  send(request: ApiRequest): Promise<unknown>;
  /** The answer's object, for reading its fields; none for an empty answer. */
  call(request: ApiRequest): Promise<AnswerFields>;
}

/** What a signature covers. */
export interface SignableRequest {
  readonly method: string;
  readonly url: URL;
  /** JSON; undefined where nothing is sent. */
  readonly body: string | undefined;
}

export interface JsonApiOptions extends CountedHttpOptions {
  readonly rateLimiter: RateLimiter;
  /** Base URL without a slash at the end. */
  readonly endpoint: string;
  /**
   * Value of the header; as a function it is asked again for each request, may answer all headers that a signature
   * needs, and throws a CloudError.
   */
  readonly authorization: string | ((request: SignableRequest) => Promise<string | Readonly<Record<string, string>>>);
  readonly timeoutMs: number;
  /** Of a mutating call. */
  readonly mutationTimeoutMs: number;
  /** An answer with a status of 300 or more. @param nowMs Unix time */
  errorOf(operation: string, answer: HttpAnswer, nowMs: number): CloudError;
}

const maxBytes = 16 * 1024 * 1024;

export function createJsonApi(options: JsonApiOptions): JsonApi {
  const { cloud, clock, rateLimiter, endpoint, authorization, timeoutMs, mutationTimeoutMs } = options;
  const http = createCountedHttp(options);

  function send(request: ApiRequest): Promise<unknown> {
    const { path, method = 'GET', query = [], body, signal, permit } = request;
    const { urgency = permit === undefined ? 'need' : 'change' } = request;
    const operation = operationOf(request);
    const url = new URL(endpoint + path);
    for (const [name, value] of query) url.searchParams.append(name, value);
    const limitMs = permit === undefined ? timeoutMs : Math.min(timeoutMs, mutationTimeoutMs);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const json = text === undefined ? {} : { body: text };

    async function exchange(): Promise<unknown> {
      const given =
        typeof authorization === 'string' ? authorization : await authorization({ method, url, body: text });
      const headers = {
        ...(typeof given === 'string' ? { authorization: given } : given),
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      permit?.(limitMs);
      const sent = { method, url: url.href, headers, ...json, timeoutMs: limitMs, maxBytes, signal };
      const answer = await http(operation, sent, (given) => {
        if (given.status >= 300) throw options.errorOf(operation, given, clock.now());
      });
      return answer.text === '' ? undefined : parseAnswer(answer.text, { cloud, operation });
    }
    return rateLimiter.run(operation, exchange, { urgency, signal });
  }

  return {
    send,
    call: async (request) => answerFields((await send(request)) ?? {}, { cloud, operation: operationOf(request) }),
  };
}

export interface OpenedApiOptions extends Pick<JsonApiOptions, 'cloud' | 'endpoint' | 'authorization' | 'errorOf'> {
  readonly limits: CallLimits;
  /** Default 15 s. */
  readonly timeoutMs?: number | undefined;
  readonly wrapHttp?: WrapHttp | undefined;
}

/** With connections and a rate limit of its own. Makes no call. */
export function openJsonApi(
  context: CloudContext,
  { limits, wrapHttp, timeoutMs = 15_000, ...options }: OpenedApiOptions,
): JsonApi & { close(): void } {
  const { clock, random, onCall, onWait, mutationTimeoutMs = 10_000 } = context;
  const { http, close } = openConnections(context, { wrapHttp });
  const rateLimiter = createRateLimiter({ cloud: options.cloud, clock, random, limits, onWait });
  return { ...createJsonApi({ ...options, http, clock, onCall, rateLimiter, timeoutMs, mutationTimeoutMs }), close };
}

/** For metrics and errors: `GET /servers/{id}`. */
export function operationOf({ method = 'GET', path, operation }: Pick<ApiRequest, 'method' | 'path' | 'operation'>) {
  return (
    operation ?? `${method} ${path.replace(/\/(?:\d+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=\/|$)/gi, '/{id}')}`
  );
}
