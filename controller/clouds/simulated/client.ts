import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { type Http, type HttpAnswer, HttpFailure } from '../../../common/process/http.ts';
import type { CallGate } from '../call-gate.ts';
import type { CloudCall } from '../cloud.ts';
import type { SimulatedConfig } from './config.ts';
import { isObject } from './instance-answer.ts';

/** How many ids one call may filter by, and how many instances a page may hold. */
export const maxPerCall = 1000;

/** The API's calls. Each is one request, and throws a CloudError and nothing else. All of them only read. */
export interface SimulatedClient {
  /** Whether the region is there and the credential is good for it. */
  region(signal?: AbortSignal): Promise<void>;
  /** One page; not validated beyond its frame. */
  page(pageToken: string | undefined, limit: number, signal?: AbortSignal): Promise<Page>;
  /** Those of at most `maxPerCall` ids that exist. */
  lookup(ids: readonly string[], signal?: AbortSignal): Promise<readonly unknown[]>;
  named(name: string, signal?: AbortSignal): Promise<readonly unknown[]>;
  /** Undefined only when the API says that this very instance does not exist; every other 404 is thrown as `Invalid`. */
  get(id: string, signal?: AbortSignal): Promise<unknown | undefined>;
}

export interface Page {
  readonly items: readonly unknown[];
  readonly nextPageToken?: string;
}

export interface ClientOptions {
  readonly config: SimulatedConfig;
  readonly http: Http;
  readonly clock: Clock;
  readonly gate: CallGate;
  /** Called before every call, so that a renewed credential is used. */
  readonly credential: () => Promise<string>;
  readonly onCall: (call: CloudCall) => void;
  /** From a call's start to the end of its answer. */
  readonly timeoutMs: number;
}

interface Call {
  readonly operation: string;
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

const cloud = 'simulated';
const maxAnswerBytes = 16 * 1024 * 1024;
/** Well below what servers take as a request line. */
const maxQueryLength = 1500;

export function createSimulatedClient(options: ClientOptions): SimulatedClient {
  const { config, http, clock, gate, credential, onCall, timeoutMs } = options;
  const base = `${config.endpoint}/v1/projects/${config.project}/regions/${config.region}`;

  async function exchange({ operation, path, body, signal }: Call): Promise<HttpAnswer> {
    const fail = (kind: CloudErrorKind, message: string, cause: unknown) =>
      new CloudError({ kind, cloud, operation, message, cause });
    let authorization: string;
    try {
      authorization = `Bearer ${await credential()}`;
    } catch (error) {
      throw fail('Unauthorized', `no credential: ${error instanceof Error ? error.message : String(error)}`, error);
    }
    const startedAt = clock.monotonic();
    let code = 'unreachable';
    try {
      const answer = await http({
        method: body === undefined ? 'GET' : 'POST',
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

  async function call(request: Call): Promise<unknown> {
    return gate.run(request.operation, async () => {
      const answer = await exchange(request);
      if (answer.status !== 200) throw refusal(answer, request.operation);
      return parse(answer.text, request.operation);
    });
  }

  return {
    async region(signal) {
      const operation = 'regions.get';
      const value = await call({ operation, path: '/', signal });
      if (!isObject(value) || value['region'] !== config.region) {
        throw invalid(
          operation,
          `region: ${shown(isObject(value) ? value['region'] : value)}, expected ${config.region}`,
        );
      }
    },
    async page(pageToken, limit, signal) {
      const operation = 'instances.list';
      const query = pageToken === undefined ? '' : `&pageToken=${encodeURIComponent(pageToken)}`;
      const value = await call({ operation, path: `/instances?limit=${limit}${query}`, signal });
      const next = isObject(value) ? value['nextPageToken'] : undefined;
      if (next === undefined) return { items: itemsOf(value, operation) };
      if (typeof next !== 'string' || next === '')
        throw invalid(operation, `nextPageToken: ${shown(next)}, expected a text`);
      return { items: itemsOf(value, operation), nextPageToken: next };
    },
    async lookup(ids, signal) {
      const operation = 'instances.lookup';
      const query = `/instances?ids=${ids.join(',')}`;
      const request = query.length <= maxQueryLength ? { path: query } : { path: '/instances:lookup', body: { ids } };
      return itemsOf(await call({ operation, ...request, signal }), operation);
    },
    async named(name, signal) {
      const operation = 'instances.find';
      return itemsOf(await call({ operation, path: `/instances?name=${encodeURIComponent(name)}`, signal }), operation);
    },
    async get(id, signal) {
      const operation = 'instances.get';
      try {
        return await call({ operation, path: `/instances/${id}`, signal });
      } catch (error) {
        if (error instanceof CloudError && error.kind === 'NotFound') return undefined;
        throw error;
      }
    },
  };
}

const jsonBody = { 'content-type': 'application/json' };

const kindOfFailure: Readonly<Record<HttpFailure['kind'], CloudErrorKind>> = {
  timeout: 'Timeout',
  unreachable: 'Unavailable',
  aborted: 'Unavailable',
  'too-large': 'Invalid',
};

/** A 404 is `NotFound` only with the API's own word for it: a wrong endpoint, project or region answers 404 too. */
function refusal(answer: HttpAnswer, operation: string): CloudError {
  const { status } = answer;
  const { code, message } = errorOf(answer.text);
  const said = `HTTP ${status}${code === '' ? '' : ` ${code}`}${message === '' ? '' : `: ${message}`}`;
  const kind = kindOfHttpStatus(status);
  if (kind === 'NotFound' && code !== 'instance-not-found') {
    return invalid(operation, `${said} (check endpoint, project and region)`);
  }
  return new CloudError({ kind, cloud, operation, message: said, retryAfterMs: retryAfterMs(answer) });
}

function errorOf(text: string): { code: string; message: string } {
  try {
    const value: unknown = JSON.parse(text);
    const error = isObject(value) ? value['error'] : undefined;
    if (!isObject(error)) return { code: '', message: '' };
    const { code, message } = error;
    return {
      code: typeof code === 'string' ? code.slice(0, 80) : '',
      message: typeof message === 'string' ? message.slice(0, 200) : '',
    };
  } catch {
    return { code: '', message: '' };
  }
}

function retryAfterMs(answer: HttpAnswer): number | undefined {
  const seconds = answer.header('retry-after');
  return seconds !== null && /^\d{1,6}$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}

function parse(text: string, operation: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CloudError({ kind: 'Invalid', cloud, operation, message: 'the answer is not JSON', cause: error });
  }
}

function itemsOf(value: unknown, operation: string): readonly unknown[] {
  const items = isObject(value) ? value['items'] : undefined;
  if (!Array.isArray(items)) throw invalid(operation, `items: ${shown(items)}, expected a list`);
  return items;
}

function invalid(operation: string, message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud, operation, message });
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : (JSON.stringify(value)?.slice(0, 80) ?? String(value));
}
