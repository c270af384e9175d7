import { CloudError } from '../../../common/cloud-error.ts';
import { type Clock, sleep } from '../../../common/process/clock.ts';
import { type Http, HttpFailure } from '../../../common/process/http.ts';
import { unlessAborted } from '../../../common/process/until.ts';
import type { OperationState } from '../../engine/resource.ts';
import type { CallGate, Urgency } from '../call-gate.ts';
import type { CloudCall } from '../cloud.ts';
import { chunks } from '../lookup-pass.ts';
import type { Permit } from '../permit.ts';
import { cloud, type Fields, fieldsOf } from './answer.ts';
import { errorOf, errorOfAction } from './fault.ts';

export interface ApiRequest {
  /** From the base URL, with a slash first. Ids stand in it, names only in the query. */
  readonly path: string;
  /** Default `GET`. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
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

/** Calls to one project. Each is one HTTP exchange with a deadline, never repeated. Fails with a CloudError, or what the permit throws. */
export interface HetznerClient {
  /** The answer as it is; undefined for an empty one (204). */
  send(request: ApiRequest): Promise<unknown>;
  /** The answer's object, for reading its fields. */
  call(request: ApiRequest): Promise<Fields>;
  /** Every item of a collection: complete, or throws. Reads only. */
  list(request: ApiRequest, collection: string): Promise<readonly Fields[]>;
  /** States of these actions, in one call for fifty of them. One that the API does not show is not in the answer. */
  actions(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, OperationState>>;
  /** Resolves when the action has succeeded, throws its CloudError when it has failed. All that wait share their polls. */
  finished(action: string, signal?: AbortSignal): Promise<void>;
}

export interface ClientOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly gate: CallGate;
  readonly onCall: (call: CloudCall) => void;
  /** Without a slash at the end. */
  readonly endpoint: string;
  /** Value of the header. */
  readonly authorization: string;
  /** How long a mutating call may take at the most. */
  readonly mutationTimeoutMs: number;
}

export const readTimeoutMs = 15_000;
const maxBytes = 16 * 1024 * 1024;
/** The most that a page holds. */
const perPage = 50;
const listTries = 3;
/** Most actions end within two seconds; one that hangs shall not use up the calls of an hour. */
const [firstPollMs, lastPollMs] = [500, 5000];

/** The id of the action that a change started, where it started one. */
export function actionOf(answer: Fields): string | undefined {
  return answer.optionalObject('action')?.id('id');
}

export function createClient(options: ClientOptions): HetznerClient {
  const { http, clock, gate, onCall, endpoint, authorization } = options;

  function send(request: ApiRequest): Promise<unknown> {
    const { path, method = 'GET', query = [], body, signal, permit } = request;
    const { urgency = permit === undefined ? 'need' : 'change' } = request;
    const operation = operationOf(request);
    const timeoutMs = permit === undefined ? readTimeoutMs : Math.min(readTimeoutMs, options.mutationTimeoutMs);
    const url = new URL(endpoint + path);
    for (const [name, value] of query) url.searchParams.append(name, value);
    const exchange = async () => {
      permit?.(timeoutMs);
      const startedAt = clock.monotonic();
      let code = 'unreachable';
      try {
        const answer = await http({
          method,
          url: url.href,
          headers: {
            authorization,
            accept: 'application/json',
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          ...{ timeoutMs, maxBytes, signal },
        });
        code = answer.status < 300 ? 'ok' : String(answer.status);
        if (answer.status >= 300) throw errorOf(operation, answer, clock.now());
        return answer.text === '' ? undefined : parse(answer.text, operation);
      } catch (error) {
        if (!(error instanceof HttpFailure)) throw error;
        if (error.kind === 'timeout') code = 'timeout';
        const kind = error.kind === 'timeout' ? 'Timeout' : 'Unavailable';
        throw new CloudError({ kind, cloud, operation, message: error.message, cause: error });
      } finally {
        onCall({ cloud, operation, code, seconds: (clock.monotonic() - startedAt) / 1000 });
      }
    };
    return gate.run(operation, exchange, { urgency, signal });
  }

  const call = async (request: ApiRequest) => fieldsOf(await send(request), operationOf(request));

  /** Undefined: something went while its pages were read, so another may have moved to a page that had been read. */
  async function tryList(request: ApiRequest, collection: string): Promise<readonly Fields[] | undefined> {
    const items = new Map<string, Fields>();
    let most = 0;
    for (let page = 1; ; ) {
      // What comes meanwhile has a higher id, so it is on a page that is still to be read.
      const paging = Object.entries({ sort: 'id:asc', page: String(page), per_page: String(perPage) });
      const answer = await call({ ...request, query: [...(request.query ?? []), ...paging] });
      for (const item of answer.objects(collection)) items.set(item.id('id'), item);
      const pagination = answer.object('meta').object('pagination');
      const total = pagination.optionalNumber('total_entries') ?? 0;
      if (total < most) return undefined;
      most = total;
      const next = pagination.optionalNumber('next_page');
      if (next === undefined) return items.size < most ? undefined : [...items.values()];
      if (next <= page) throw unavailable(operationOf(request), `next_page: ${next}, expected more than ${page}`);
      page = next;
    }
  }

  async function list(request: ApiRequest, collection: string): Promise<readonly Fields[]> {
    for (let tries = 0; tries < listTries; tries += 1) {
      const items = await tryList(request, collection);
      if (items !== undefined) return items;
    }
    throw unavailable(operationOf(request), 'the list changed while its pages were read');
  }

  async function actions(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, OperationState>> {
    const states = new Map<string, OperationState>();
    for (const some of chunks(ids, perPage)) {
      const query = [...some.map((id) => ['id', id] as const), ['per_page', String(perPage)] as const];
      const answer = await call({ path: '/actions', query, urgency: 'change', signal });
      for (const action of answer.objects('actions')) states.set(action.id('id'), stateOf(action));
    }
    return states;
  }

  const waiting = new Map<string, PromiseWithResolvers<void>>();

  async function pollAll(): Promise<void> {
    for (let ms = firstPollMs; waiting.size > 0; ms = Math.min(ms * 1.5, lastPollMs)) {
      await sleep(clock, ms);
      const asked = [...waiting.keys()];
      const states = await actions(asked).catch((error: unknown) => error);
      for (const id of asked) {
        const state = states instanceof Map ? (states.get(id) ?? 'done') : states;
        if (state === 'running') continue;
        if (state === 'done') waiting.get(id)!.resolve();
        else waiting.get(id)!.reject(state);
        waiting.delete(id);
      }
    }
  }

  return {
    send,
    call,
    list,
    actions,
    async finished(action, signal) {
      const first = waiting.size === 0;
      const end = waiting.get(action) ?? Promise.withResolvers<void>();
      waiting.set(action, end);
      if (first) void pollAll();
      await unlessAborted(end.promise, signal, () => unavailable('GET /actions', 'given up'));
    },
  };
}

/** For metrics and errors: `GET /servers/{id}`. */
function operationOf({ method = 'GET', path }: ApiRequest): string {
  return `${method} ${path.replace(/\/\d+(?=\/|$)/g, '/{id}')}`;
}

function stateOf(action: Fields): OperationState {
  const status = action.text('status');
  if (status === 'running') return 'running';
  if (status === 'success') return 'done';
  const error = action.optionalObject('error');
  const code = error?.optionalText('code') ?? 'action_failed';
  return errorOfAction(action.text('command'), code, error?.optionalText('message') ?? '');
}

function parse(text: string, operation: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A cut body and a proxy's page look alike.
    throw unavailable(operation, 'the answer is not JSON, or not all of it');
  }
}

function unavailable(operation: string, message: string): CloudError {
  return new CloudError({ kind: 'Unavailable', cloud, operation, message });
}
