import type { Agent } from 'node:http';
import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import { errorOfAnswer } from './answer.ts';
import { defaultCallTimeoutMs, type KubeApi, type KubeCall, KubeError, type PatchType, type WatchCall } from './api.ts';
import type { Credentials, KubeConnection } from './connection.ts';
import { exchange, type Incoming, type Outgoing, open } from './exchange.ts';
import { createPools } from './pools.ts';
import { withoutMembers } from './unread-members.ts';
import { readWatch } from './watch-stream.ts';

/** One finished call, for metrics. */
export interface CallRecord {
  /** The server, as in its URL: `10.96.0.1:443`. */
  readonly host: string;
  readonly method: string;
  readonly verb: KubeCall['verb'] | 'watch';
  /** `nodes`, `nodes/status`, `leases`, ...; `other` for a path that names no resource. */
  readonly resource: string;
  /** The status, or the KubeError's reason without an answer. */
  readonly code: string;
  /** Until the end of the answer; for a watch until its beginning. */
  readonly seconds: number;
}

export interface KubeClientOptions {
  readonly config: KubeConnection;
  readonly clock: Clock;
  readonly log: Log;
  readonly onCall?: (record: CallRecord) => void;
  readonly userAgent?: string;
}

const mediaTypes: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  'strategic-merge': 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};
const methods: Readonly<Record<KubeCall['verb'], string>> = {
  get: 'GET',
  list: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
};
const metadataOnly =
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,' +
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
/** Longer than a server queues a watch (priority and fairness). */
const watchStartTimeoutMs = 30_000;

/**
 * The Kubernetes API over HTTP/1.1 with keep-alive connections: at most 32 for calls, plus one per watch. Every call
 * has a deadline. Calls are not retried, except once with new credentials after a 401 (the refused call was not
 * executed).
 */
export function createKubeClient(options: KubeClientOptions): { readonly api: KubeApi; close(): void } {
  const { config, clock, log, onCall } = options;
  const userAgent = options.userAgent ?? 'mooring-controller';
  const server = new URL(config.server);
  const prefix = server.pathname.replace(/\/+$/, '');
  const secure = server.protocol === 'https:';
  const host = server.hostname.replace(/^\[|\]$/g, '');
  const port = Number(server.port) || (secure ? 443 : 80);
  const pools = createPools(secure, config.proxy);

  function outgoing(agent: Agent, credentials: Credentials, call: Parts): Outgoing {
    return {
      agent,
      secure,
      host,
      port,
      method: call.method,
      path: `${prefix}${call.path}${queryText(call.query)}`,
      headers: { ...call.headers, ...credentials.headers },
      body: call.body,
      signal: call.signal,
      name: call.path,
    };
  }

  /** Runs `attempt` with the current credentials. If they are refused and renewing changes them, runs it once more. */
  async function withCredentials<R extends { readonly status: number }>(
    attempt: (credentials: Credentials) => Promise<R>,
    within: <V>(work: V | Promise<V>) => Promise<V>,
  ): Promise<R> {
    const first = await within(config.credentials());
    const answer = await attempt(first);
    if (answer.status !== 401) return answer;
    const second = await within(config.credentials(first));
    if (second === first) return answer;
    log.debug('credentials were refused; trying the renewed ones');
    return attempt(second);
  }

  async function call<T>(request: KubeCall): Promise<T> {
    const startedAt = clock.monotonic();
    const timeoutMs = request.timeoutMs ?? defaultCallTimeoutMs;
    const left = () => timeoutMs - (clock.monotonic() - startedAt);
    const what = `${methods[request.verb]} ${request.path}`;
    let code = 'Error';
    try {
      const parts = partsOf(request, userAgent);
      const agentOf = ({ tls }: Credentials) => pools.of(tls)[request.urgent ? 'urgent' : 'calls'];
      const answer: Incoming = await withCredentials(
        (credentials) => exchange(outgoing(agentOf(credentials), credentials, parts), clock, left()),
        (work) => bounded(work, clock, left(), what),
      );
      code = String(answer.status);
      if (answer.status < 200 || answer.status > 299) throw errorOfAnswer(what, answer, clock.now());
      const dateMs = Date.parse(answer.headers.date ?? '');
      if (!Number.isNaN(dateMs)) request.onDate?.(dateMs);
      return parsed<T>(what, answer, request.unread);
    } catch (error) {
      if (error instanceof KubeError && error.status === 0) code = error.reason;
      throw error;
    } finally {
      onCall?.({
        host: server.host,
        method: methods[request.verb],
        verb: request.verb,
        resource: resourceOf(request.path),
        code,
        seconds: (clock.monotonic() - startedAt) / 1000,
      });
    }
  }

  async function watch(request: WatchCall): Promise<void> {
    const startedAt = clock.monotonic();
    const left = () => watchStartTimeoutMs - (clock.monotonic() - startedAt);
    const what = `WATCH ${request.path}`;
    const parts: Parts = {
      method: 'GET',
      path: request.path,
      query: { ...request.query, watch: '1' },
      headers: { accept: 'application/json', 'user-agent': userAgent },
      signal: request.signal,
    };
    const watched = { host: server.host, method: 'GET', verb: 'watch', resource: resourceOf(request.path) } as const;
    let code = 'Error';
    let seconds: number | undefined;
    try {
      const answer = await withCredentials(
        (credentials) => openWatch(outgoing(pools.of(credentials.tls).watches, credentials, parts), left(), request),
        (work) => bounded(work, clock, left(), what),
      );
      code = String(answer.status);
      seconds = (clock.monotonic() - startedAt) / 1000;
      if ('failed' in answer) throw errorOfAnswer(what, answer.failed, clock.now());
      onCall?.({ ...watched, code, seconds });
      await answer.ended;
    } catch (error) {
      if (seconds === undefined && error instanceof KubeError && error.status === 0) code = error.reason;
      if (seconds === undefined || code !== '200') {
        seconds ??= (clock.monotonic() - startedAt) / 1000;
        onCall?.({ ...watched, code, seconds });
      }
      throw error;
    }
  }

  function openWatch(outgoing: Outgoing, timeoutMs: number, request: WatchCall): Promise<WatchAnswer> {
    return new Promise((resolve, reject) => {
      const sent = open(
        outgoing,
        clock,
        timeoutMs,
        (response) => {
          const status = response.statusCode ?? 0;
          if (status === 200) {
            if (!sent.settle()) return;
            const ended = readWatch(response, { ...request, name: request.path });
            // Awaited a tick later, so a stream that breaks at once must not count as an unhandled rejection.
            ended.catch(() => {});
            resolve({ status, ended });
            return;
          }
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
          });
          response.on('end', () => {
            const failed = { status, headers: response.headers, body: Buffer.concat(chunks) };
            if (sent.settle()) resolve({ status, failed });
          });
        },
        reject,
      );
    });
  }

  return { api: { call, watch }, close: () => pools.close() };
}

type WatchAnswer =
  | { readonly status: number; readonly ended: Promise<void> }
  | { readonly status: number; readonly failed: Incoming };

interface Parts {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>> | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal | undefined;
}

function partsOf(call: KubeCall, userAgent: string): Parts {
  const headers: Record<string, string> = {
    accept: call.answer === 'metadata' ? metadataOnly : 'application/json',
    'user-agent': userAgent,
  };
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  if (body !== undefined) {
    // Node does not frame the body of a DELETE by itself, so the server would read it as the next request.
    headers['content-length'] = String(Buffer.byteLength(body));
    headers['content-type'] = call.verb === 'patch' ? mediaTypes[call.patch ?? 'merge'] : 'application/json';
  }
  return { method: methods[call.verb], path: call.path, query: call.query, headers, body, signal: call.signal };
}

function queryText(query: Readonly<Record<string, string>> | undefined): string {
  if (query === undefined) return '';
  const text = new URLSearchParams(query).toString();
  return text === '' ? '' : `?${text}`;
}

function parsed<T>(what: string, answer: Incoming, unread: readonly string[] = []): T {
  try {
    return JSON.parse(withoutMembers(answer.body, unread).toString('utf8')) as T;
  } catch (error) {
    const message = `${what}: ${answer.status} with a body of ${answer.body.length} bytes that is no JSON`;
    throw new KubeError({ status: 0, reason: 'Unreadable', message, cause: error });
  }
}

/** `nodes/status` of `/api/v1/nodes/a/status`, `leases` of `/apis/coordination.k8s.io/v1/namespaces/n/leases/x`. */
export function resourceOf(path: string): string {
  const match =
    /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)(?:\/namespaces\/[^/]+(?=\/))?\/([a-z]+)(?:\/[^/]+(?:\/([a-z]+))?)?\/?$/.exec(
      path,
    );
  if (!match) return 'other';
  return match[2] === undefined ? match[1]! : `${match[1]}/${match[2]}`;
}

/** Limits the wait for credentials to the deadline of the call: they may come from another process. */
function bounded<V>(work: V | Promise<V>, clock: Clock, timeoutMs: number, what: string): Promise<V> {
  if (!(work instanceof Promise)) return Promise.resolve(work);
  return new Promise((resolve, reject) => {
    const unreachable = (message: string, reason: string, cause?: unknown) =>
      reject(new KubeError({ status: 0, reason, message: `${what}: ${message}`, cause }));
    const timer = clock.setTimer(timeoutMs, () => unreachable(`no credentials within ${timeoutMs} ms`, 'Timeout'));
    work
      .then(resolve, (error) => unreachable(`no credentials: ${(error as Error).message}`, 'Unreachable', error))
      .finally(() => timer.cancel());
  });
}
