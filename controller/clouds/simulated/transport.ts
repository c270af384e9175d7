import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { type Http, type HttpAnswer, HttpFailure } from '../../../common/process/http.ts';
import type { CloudCall } from '../cloud.ts';
import type { Permit } from '../permit.ts';
import type { RateLimiter } from '../rate-limiter.ts';
import type { SimulatedConfig } from './config.ts';
import { itemFields } from './load-balancer-answer.ts';

export interface ApiRequest {
  /** As the API's own table names it. */
  readonly operation: string;
  /** After the region, with a slash at its start. */
  readonly path: string;
  /** Default: GET without a body, POST with one. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Of a request that changes something: asked right before it is sent. */
  readonly permit?: Permit | undefined;
}

/** One request to the API and its answer, parsed. Throws a CloudError, or what the permit throws. */
export type Transport = (request: ApiRequest) => Promise<unknown>;

export interface TransportOptions {
  readonly config: SimulatedConfig;
  readonly http: Http;
  readonly clock: Clock;
  readonly gate: RateLimiter;
  /** Called before every call, so that a renewed credential is used. */
  readonly credential: () => Promise<string>;
  readonly onCall: (call: CloudCall) => void;
  /** From a call's start to the end of its answer. */
  readonly timeoutMs: number;
  /** The same of calls that change something. */
  readonly mutationTimeoutMs: number;
}

/** What the API said when it refused: the cause of the CloudError. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal';
  readonly status: number;
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, details: Readonly<Record<string, unknown>>) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** The API's own code of a refusal; undefined where it was none. */
export function refusalOf(error: unknown): ApiRefusal | undefined {
  return error instanceof CloudError && error.cause instanceof ApiRefusal ? error.cause : undefined;
}

export const cloud = 'simulated';
const maxAnswerBytes = 16 * 1024 * 1024;

export function createTransport(options: TransportOptions): Transport {
  const { config, http, clock, gate, credential, onCall } = options;
  const base = `${config.endpoint}/v1/projects/${config.project}/regions/${config.region}`;

  async function exchange(request: ApiRequest): Promise<HttpAnswer> {
    const { operation, path, body, signal, permit } = request;
    const timeoutMs = permit === undefined ? options.timeoutMs : options.mutationTimeoutMs;
    const fail = (kind: CloudErrorKind, message: string, cause: unknown) =>
      new CloudError({ kind, cloud, operation, message, cause });
    let authorization: string;
    try {
      authorization = `Bearer ${await credential()}`;
    } catch (error) {
      throw fail('Unauthorized', `no credential: ${error instanceof Error ? error.message : String(error)}`, error);
    }
    permit?.(timeoutMs);
    const startedAt = clock.monotonic();
    let code = 'unreachable';
    try {
      const answer = await http({
        method: request.method ?? (body === undefined ? 'GET' : 'POST'),
        url: base + path,
        headers: { authorization, accept: 'application/json', ...(body !== undefined && jsonBody) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        timeoutMs,
        signal,
        maxBytes: maxAnswerBytes,
      });
      code = String(answer.status);
      return answer;
    } catch (error) {
      if (!(error instanceof HttpFailure)) throw fail('Unavailable', String(error), error);
      code = error.kind;
      throw fail(kindOfFailure[error.kind], error.message, error);
    } finally {
      onCall({ cloud, operation, code, seconds: (clock.monotonic() - startedAt) / 1000 });
    }
  }

  return (request) =>
    gate.run(request.operation, async () => {
      const answer = await exchange(request);
      if (answer.status < 200 || answer.status > 202) throw refusal(answer, request.operation);
      return parse(answer.text, request.operation);
    });
}

const jsonBody = { 'content-type': 'application/json' };

const kindOfFailure: Readonly<Record<HttpFailure['kind'], CloudErrorKind>> = {
  timeout: 'Timeout',
  unreachable: 'Unavailable',
  aborted: 'Unavailable',
  'too-large': 'Invalid',
};

/** A 404 is `NotFound` only with the API's own word for it: a wrong endpoint, project or region answers 404 too. */
const absences: ReadonlySet<string> = new Set(
  ['instance', 'load-balancer', 'listener', 'pool', 'address', 'route'].map((kind) => `${kind}-not-found`),
);

const kindOfCode: ReadonlyMap<string, CloudErrorKind> = new Map([
  ['quota-exceeded', 'QuotaExceeded'],
  ['not-ready', 'Busy'],
  ['revision-mismatch', 'Stale'],
  ['name-taken', 'Taken'],
  ['port-taken', 'Taken'],
]);

function refusal(answer: HttpAnswer, operation: string): CloudError {
  const { status } = answer;
  const { code, message, details } = errorOf(answer.text);
  const said = `HTTP ${status}${code === '' ? '' : ` ${code}`}${message === '' ? '' : `: ${message}`}`;
  const cause = new ApiRefusal(status, code, message, details);
  const kind = kindOfCode.get(code) ?? kindOfHttpStatus(status);
  if (kind === 'NotFound' && !absences.has(code)) {
    return new CloudError({
      kind: 'Invalid',
      cloud,
      operation,
      message: `${said} (check endpoint, project and region)`,
      cause,
    });
  }
  return new CloudError({ kind, cloud, operation, message: said, retryAfterMs: retryAfterMs(answer), cause });
}

function errorOf(body: string): { code: string; message: string; details: Readonly<Record<string, unknown>> } {
  try {
    const { code, message, ...details } = JSON.parse(body).error;
    return {
      code: typeof code === 'string' ? code.slice(0, 80) : '',
      message: typeof message === 'string' ? message.slice(0, 200) : '',
      details,
    };
  } catch {
    return { code: '', message: '', details: {} };
  }
}

function retryAfterMs(answer: HttpAnswer): number | undefined {
  const seconds = answer.header('retry-after');
  return seconds !== null && /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}

function parse(body: string, operation: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    throw new CloudError({ kind: 'Invalid', cloud, operation, message: 'the answer is not JSON', cause: error });
  }
}

export interface Page {
  readonly items: readonly unknown[];
  readonly nextPageToken?: string;
}

/** The frame of a list; its items are not looked at. */
export function pageOf(value: unknown, operation: string): Page {
  const items = itemsOf(value, operation);
  const fields = itemFields(value, 'answer', operation);
  if (fields.json()['nextPageToken'] === undefined) return { items };
  return { items, nextPageToken: fields.text('nextPageToken') };
}

export function itemsOf(value: unknown, operation: string): readonly unknown[] {
  const fields = itemFields(value, 'answer', operation);
  const { items } = fields.json();
  if (!Array.isArray(items)) throw fields.wrong('items', 'a list');
  return items;
}

/**
 * Every page of a list. Throws when the chain of pages leads back to where it has been.
 * @param path with a query already
 */
export async function everyPage(
  transport: Transport,
  { operation, path, signal }: ApiRequest,
  eachPage: (page: unknown) => void = () => {},
): Promise<unknown[]> {
  const items: unknown[] = [];
  const seen = new Set<string>();
  for (let token = ''; ; ) {
    const next = token === '' ? '' : `&pageToken=${encodeURIComponent(token)}`;
    const value = await transport({ operation, path: path + next, signal });
    eachPage(value);
    const page = pageOf(value, operation);
    items.push(...page.items);
    if (page.nextPageToken === undefined) return items;
    token = page.nextPageToken;
    if (seen.has(token)) {
      throw new CloudError({ kind: 'Unavailable', cloud, operation, message: 'the pages lead in a circle' });
    }
    seen.add(token);
  }
}

export function invalid(operation: string, message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud, operation, message });
}
