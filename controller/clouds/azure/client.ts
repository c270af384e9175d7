import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http, HttpAnswer } from '../../../common/process/http.ts';
import { restOrAbort } from '../../../common/process/until.ts';
import { type AnswerFields, answerFields, parseAnswer } from '../answer-fields.ts';
import type { CloudCall } from '../cloud.ts';
import { createCountedHttp } from '../counted-http.ts';
import type { ExpiringCredential } from '../expiring-credential.ts';
import { unlessNotFound } from '../not-found.ts';
import { pagesByToken } from '../pages.ts';
import type { Permit } from '../permit.ts';
import type { RateLimiter } from '../rate-limiter.ts';
import { retryAfterMsOf } from '../retry-after.ts';
import type { Urgency } from '../urgency.ts';
import { cloud, errorOf, errorOfOperation } from './fault.ts';

/** Versions of the APIs that are spoken. */
export const versions = {
  compute: '2024-07-01',
  /** Of managed disks, which have versions of their own. */
  disks: '2024-03-02',
  network: '2024-05-01',
  /** Of network interfaces and addresses of scale sets, which Compute shows. */
  scaleSetNetwork: '2018-10-01',
  resources: '2022-12-01',
  authorization: '2022-04-01',
} as const;

export interface ArmRequest {
  /** For metrics and errors, without names: `GET virtualMachines/{name}`. */
  readonly operation: string;
  /** From the endpoint: a resource id, each segment encoded. */
  readonly path: string;
  readonly version: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Default `need`, and `change` for what has a permit. */
  readonly urgency?: Urgency | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ArmRemoval extends ArmRequest {
  /** Called right before the request is sent. */
  readonly permit: Permit;
  /** The version that was read; undefined: for a write that the resource must not be there yet, else any. */
  readonly etag: string | undefined;
  /** How long its operation may take, milliseconds. Default two minutes. */
  readonly longestMs?: number | undefined;
}

export interface ArmWrite extends ArmRemoval {
  readonly body: unknown;
}

/** Calls to Resource Manager, none of them repeated. Each fails with a CloudError, or with what the permit throws. */
export interface ArmClient {
  get(request: ArmRequest): Promise<AnswerFields>;
  /** Every item on every page: complete, or throws. */
  list(request: ArmRequest): Promise<readonly AnswerFields[]>;
  /**
   * Writes a resource as a whole, and resolves when the operation that this starts has succeeded. `Stale` where the
   * etag is no longer that of the resource; `Timeout` when the operation takes longer than it may.
   */
  put(request: ArmWrite): Promise<void>;
  /**
   * Writes as `put` does, polls the resource instead of the operation, and resolves with the resource. Where another
   * write has taken the place of this one, that is what the other one wrote. For resources of Microsoft.Network.
   */
  write(request: ArmWrite): Promise<AnswerFields>;
  /** Deletes a resource, as `put` writes one; succeeds where it is not there. */
  remove(request: ArmRemoval): Promise<void>;
}

export interface ArmOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly rateLimiter: RateLimiter;
  readonly tokens: ExpiringCredential<string>;
  readonly endpoint: string;
  readonly mutationTimeoutMs: number;
  readonly onCall: (call: CloudCall) => void;
}

interface Sent {
  readonly operation: string;
  readonly url: string;
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly permit?: Permit;
  readonly urgency: Urgency;
  readonly signal: AbortSignal | undefined;
}

const timeoutMs = 30_000;
const maxBytes = 32 * 1024 * 1024;
const [firstPollMs, leastPollMs, mostPollMs] = [1000, 500, 30_000];
const usualLongestMs = 120_000;
const failedState = { code: 'Failed', message: 'the resource is in a failed state' };

export function createClient(options: ArmOptions): ArmClient {
  const { clock, rateLimiter, tokens, endpoint, mutationTimeoutMs } = options;
  const http = createCountedHttp({ ...options, cloud });
  const { origin } = new URL(endpoint);

  function send(sent: Sent): Promise<HttpAnswer> {
    const { operation, method, url, permit, body, signal, urgency } = sent;
    const limitMs = permit === undefined ? timeoutMs : Math.min(timeoutMs, mutationTimeoutMs);
    const json = body === undefined ? {} : { body: JSON.stringify(body) };

    async function exchange(): Promise<HttpAnswer> {
      const token = await tokens.get();
      permit?.(limitMs);
      const headers = {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...sent.headers,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      const answer = await http(operation, { method, url, headers, ...json, timeoutMs: limitMs, maxBytes, signal });
      if (answer.status < 300) return answer;
      const error = errorOf(operation, answer, clock.now());
      if (error.kind === 'Unauthorized') tokens.forget();
      throw error;
    }
    return rateLimiter.run(operation, exchange, { urgency, signal });
  }

  function urlOf({ path, version, query = {} }: ArmRequest): string {
    const url = new URL(endpoint + path);
    url.searchParams.set('api-version', version);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return url.href;
  }

  /** A link of an answer goes where the token may go: to Resource Manager itself. */
  function followed(operation: string, link: string): string {
    const url = URL.parse(link);
    if (url?.origin === origin && url.username === '' && url.password === '') return url.href;
    // Whatever stands in its query may be a token of its own.
    const shown = JSON.stringify(link.replace(/\?.*$/s, '').slice(0, 100));
    throw failure('Invalid', operation, `link: ${shown}, expected a URL at ${origin}`);
  }

  async function read(request: ArmRequest, url = urlOf(request)): Promise<AnswerFields> {
    const { operation, urgency = 'need', signal } = request;
    return fieldsOf(operation, await send({ operation, url, method: 'GET', urgency, signal }));
  }

  async function list(request: ArmRequest): Promise<readonly AnswerFields[]> {
    const { operation } = request;
    const items: AnswerFields[] = [];
    const page = (link: string | undefined) => read(request, link && followed(operation, link));
    for await (const one of pagesByToken({ cloud, operation }, 'nextLink', page)) items.push(...one.objects('value'));
    return items;
  }

  /**
   * Resolves with the resource where that was polled at last, else with undefined.
   *
   * @param follows what is polled first, where Azure names an operation
   */
  async function change(
    method: 'PUT' | 'DELETE',
    request: ArmRemoval & { readonly body?: unknown },
    follows: 'operation' | 'resource',
  ): Promise<HttpAnswer | undefined> {
    const { operation, body, permit, etag, urgency = 'change', signal, longestMs = usualLongestMs } = request;
    const isDelete = method === 'DELETE';
    const headers: Record<string, string> = etag !== undefined ? { 'if-match': etag } : {};
    if (etag === undefined && !isDelete) headers['if-none-match'] = '*';
    const url = urlOf(request);
    const answer = await send({ operation, url, method, body, headers, permit, urgency, signal });
    if (answer.status !== 202 && (isDelete || stateOf(fieldsOf(operation, answer)) === 'done')) return answer;
    const operationLink = answer.header('azure-asyncoperation');
    const location = answer.header('location');
    const link = operationLink ?? location;
    const startedAt = clock.monotonic();
    const told = link === null ? 'resource' : operationLink !== null ? 'operation' : 'location';
    let kind: 'operation' | 'location' | 'resource' = follows === 'resource' ? 'resource' : told;
    // A resource that is not there, or in a failed state, does not tell why.
    let mayAsk = kind !== told;
    let waitMs = retryAfterMsOf(answer, clock.now()) ?? firstPollMs;
    for (;;) {
      if (clock.monotonic() - startedAt >= longestMs)
        throw failure('Timeout', operation, `the operation runs for more than ${longestMs / 1000} s`);
      await restOrAbort(clock, Math.min(Math.max(waitMs, leastPollMs), mostPollMs), signal);
      try {
        const polled = kind === 'resource' || link === null ? url : followed(operation, link);
        const poll = await send({ operation: `${operation} (poll)`, url: polled, method: 'GET', urgency, signal });
        waitMs = retryAfterMsOf(poll, clock.now()) ?? Math.min(waitMs * 1.5, mostPollMs);
        if (kind === 'location' && poll.status !== 202) return undefined;
        if (kind === 'location') continue;
        const fields = fieldsOf(operation, poll);
        const status = kind === 'operation' ? statusOf(fields.text('status')) : stateOf(fields);
        if (status === 'done') return kind === 'resource' ? poll : undefined;
        if (status === 'failed' && !mayAsk) throw new FailedOperation(fields.json()['error'] ?? failedState);
        if (status === 'running') continue;
        kind = told;
        mayAsk = false;
      } catch (error) {
        if (error instanceof FailedOperation) throw errorOfOperation(operation, error.answer);
        // A poll that fails tells nothing of the operation.
        const hidden = isHidden(error);
        if (!isCloudError(error) || !(error.retryable || hidden) || signal?.aborted) throw error;
        const isGone = kind === 'resource' && error.kind === 'NotFound' && !mayAsk;
        if (isDelete && isGone) return undefined;
        if (follows === 'resource' && isGone) throw goneAfter(operation);
        waitMs = error.retryAfterMs ?? waitMs * 2;
        if (!hidden || (kind === 'resource' && !mayAsk)) continue;
        kind = kind === 'resource' ? told : 'resource';
        mayAsk = false;
      }
    }
  }

  return {
    get: (request) => read(request),
    list,
    put: async (request) => void (await change('PUT', request, 'operation')),
    async write(request) {
      const { operation } = request;
      const written = await change('PUT', request, 'resource');
      if (written !== undefined) return fieldsOf(operation, written);
      const shown = await unlessNotFound(read(request));
      if (shown !== undefined) return shown;
      throw goneAfter(operation);
    },
    remove: async (request) => void (await change('DELETE', request, 'operation')),
  };
}

/** The role of a resource group alone does not show operations, which are of the location. */
function isHidden(error: unknown): boolean {
  return isCloudError(error) && (error.kind === 'Forbidden' || error.kind === 'NotFound');
}

function goneAfter(operation: string): CloudError {
  return failure('Conflict', operation, 'what was written is gone right after it');
}

class FailedOperation extends Error {
  readonly answer: unknown;

  constructor(answer: unknown) {
    super('the operation has failed');
    this.answer = answer;
  }
}

export type OperationState = 'running' | 'done' | 'failed';

function statusOf(status: string): OperationState {
  if (/^succeeded$/i.test(status)) return 'done';
  return /^(failed|canceled)$/i.test(status) ? 'failed' : 'running';
}

/** That of a resource; one without a state needs no operation. */
export function stateOf(resource: AnswerFields): OperationState {
  return statusOf(resource.optionalObject('properties')?.optionalText('provisioningState') ?? 'Succeeded');
}

function fieldsOf(operation: string, { text }: HttpAnswer): AnswerFields {
  return answerFields(parseAnswer(text, { cloud, operation }), { cloud, operation });
}

function failure(kind: CloudError['kind'], operation: string, message: string): CloudError {
  return new CloudError({ kind, cloud, operation, message });
}
