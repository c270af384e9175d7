import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../../../common/process/clock.ts';
import { answerHealth, type HealthAnswer, type HealthCheck } from '../../../common/process/health.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { MetricRegistry } from '../../../common/process/metrics.ts';
import type { KubeApi } from '../../kube/api.ts';
import { type ConnectionLimits, limitConnections, peerGroup } from './connection-limits.ts';
import type { ServingCredentials } from './credentials.ts';
import { type ListenAddress, listenOn, stopListening } from './listen-address.ts';
import { type Access, type AccessTimes, createAccess } from './path-access.ts';
import { defaultTlsPolicy, type TlsPolicy } from './tls-policy.ts';

export interface SecureServerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Not fenced: it reviews who may read `/metrics`, `/configz` and `/reports`. */
  readonly api: KubeApi;
  readonly credentials: ServingCredentials;
  readonly live: readonly HealthCheck[];
  readonly ready: readonly HealthCheck[];
  readonly metrics: MetricRegistry;
  /** The effective configuration, free of credentials; served as JSON. */
  configz(): unknown;
  /** Those of agents, free of evidence, in parts; or why there are none here. */
  reports(): PassedOnReports;
  /** How long verdicts about tokens and permissions are cached. */
  readonly accessTimes?: AccessTimes | undefined;
  readonly tls?: TlsPolicy | undefined;
}

/**
 * No patience: every request here is answered at once, so a silent connection always makes room for a new one, even of
 * its own address. A probe always comes from the same address.
 */
const limits: ConnectionLimits = { maxConnections: 256, maxConnectionsPerAddress: 64, patienceMs: 0 };

export type PassedOnReports =
  | { readonly lines: Iterable<string>; readonly fault?: undefined }
  | { readonly fault: string };

export interface SecureServer {
  /** Starts listening. @returns the port */
  listen(address: ListenAddress): Promise<number>;
  /** Uses these credentials from the next connection on. */
  reload(credentials: ServingCredentials): void;
  /** Stops listening and closes every connection. Safe to repeat. */
  close(): Promise<void>;
}

const guarded: ReadonlySet<string> = new Set(['/metrics', '/configz', '/reports']);
/** A client that takes nothing of a long answer for so long loses its connection. */
const stalledMs = 10_000;
const json = 'application/json';
const reasons = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  429: 'TooManyRequests',
} as const;

interface Answer extends Omit<HealthAnswer, 'body'> {
  readonly body: string | Iterable<string>;
  readonly retryAfterSeconds?: number;
}

/** A refusal as a Kubernetes Status object. */
function statusObject(status: number, message: string): HealthAnswer {
  const reason = reasons[status as keyof typeof reasons] ?? 'ServiceUnavailable';
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code: status };
  return { status, contentType: json, body: `${JSON.stringify(body)}\n` };
}

function refusal(access: Access & { allowed: false }, path: string): Answer {
  const message = access.status === 403 ? `forbidden: ${access.message}` : access.message;
  const answer = statusObject(access.status, access.status === 503 ? `${path}: ${message}` : message);
  return access.status === 429 ? { ...answer, retryAfterSeconds: access.retryAfterSeconds } : answer;
}

/**
 * The server of `--secure-port`: health without authentication; `/metrics`, `/configz` and `/reports` for users that
 * the API server allows to `get` those paths. Not used when the port is 0.
 */
export function createSecureServer(options: SecureServerOptions): SecureServer {
  const { log, metrics, live, ready, clock, api, tls = defaultTlsPolicy } = options;
  const mayGet = createAccess({ api, clock, times: options.accessTimes });

  async function answer(request: IncomingMessage): Promise<Answer> {
    const target = request.url ?? '/';
    const path = target.split('?', 1)[0] ?? '/';
    if (request.method !== 'GET' && request.method !== 'HEAD') return statusObject(405, 'only GET and HEAD');
    if (guarded.has(path)) {
      const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
      const access = await mayGet({ path, token, group: peerGroup(request.socket.remoteAddress ?? '') });
      if (!access.allowed) return refusal(access, path);
    }
    if (path === '/configz') {
      return { status: 200, contentType: json, body: `${JSON.stringify(options.configz())}\n` };
    }
    if (path === '/reports') {
      const passedOn = options.reports();
      if (passedOn.fault !== undefined) return statusObject(503, passedOn.fault);
      return { status: 200, contentType: 'application/x-ndjson', body: passedOn.lines };
    }
    return (await answerHealth({ live, ready, metrics }, target)) ?? statusObject(404, `${path} is not served here`);
  }

  function respond(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    answer(request)
      .catch((error: unknown): Answer => {
        log.error('the secure port failed', errorFields(error));
        return { status: 500, contentType: 'text/plain', body: 'internal error\n' };
      })
      .then(async ({ status, contentType, body, retryAfterSeconds }) => {
        if (retryAfterSeconds !== undefined) response.setHeader('retry-after', retryAfterSeconds);
        if (typeof body === 'string') response.setHeader('content-length', Buffer.byteLength(body));
        response.writeHead(status, { 'content-type': contentType, 'x-content-type-options': 'nosniff' });
        if (request.method === 'HEAD') return void response.end();
        if (typeof body === 'string') return void response.end(body);
        response.setTimeout(stalledMs, () => response.destroy());
        await pipeline(Readable.from(body, { highWaterMark: 1 }), response);
      })
      .catch((error: unknown) => log.debug('an answer on the secure port was lost', errorFields(error)));
  }

  const server = createServer(
    {
      ...options.credentials,
      ...tls,
      headersTimeout: 5_000,
      requestTimeout: 10_000,
      handshakeTimeout: 5_000,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: 30_000,
    },
    respond,
  );
  const cutAll = limitConnections(server, limits, clock);
  server.on('clientError', (_error, socket) => socket.destroy());

  return {
    listen: (address) => listenOn(server, address),
    reload({ cert, key }) {
      server.setSecureContext({ cert, key, ...tls });
    },
    close: () => stopListening(server, cutAll),
  };
}
