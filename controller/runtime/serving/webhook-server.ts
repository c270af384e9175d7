import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { MetricsOf } from '../../../common/process/metrics.ts';
import {
  type AdmissionDecision,
  type AdmissionRequest,
  admissionReview,
  readAdmissionReview,
} from './admission-review.ts';
import { type ConnectionLimits, limitConnections } from './connection-limits.ts';
import type { ServingCredentials } from './credentials.ts';
import { type ListenAddress, listenOn, stopListening } from './listen-address.ts';
import { defaultTlsPolicy, type TlsPolicy } from './tls-policy.ts';
import type { webhookMetrics } from './webhook-metrics.ts';

export interface Webhook {
  readonly name: string;
  readonly path: string;
  /** Throws a TypeError for an object that is malformed. */
  admit(request: AdmissionRequest): Promise<AdmissionDecision>;
}

export interface WebhookServerOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly credentials: ServingCredentials;
  readonly webhooks: readonly Webhook[];
  readonly metrics: MetricsOf<typeof webhookMetrics>;
  readonly tls?: TlsPolicy | undefined;
}

export interface WebhookServer {
  /** Starts listening. @returns the port */
  listen(address: ListenAddress): Promise<number>;
  /** Uses these credentials from the next connection on. */
  reload(credentials: ServingCredentials): void;
  /** Stops listening and closes every connection. Safe to repeat. */
  close(): Promise<void>;
}

/** The API server stores objects of up to 1.5 MiB, and a review has two of them. */
const maxBodyBytes = 3 * 1024 * 1024;
/** Each may wait for a cloud. */
const maxInProgress = 64;
/** All requests of one API server come from one address. */
const limits: ConnectionLimits = { maxConnections: 256, maxConnectionsPerAddress: 128, patienceMs: 5_000 };
const untrustedEveryMs = 60_000;

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * The server of admission webhooks, on leader and standbys. It asks for no client certificate, as upstream's does not:
 * what a caller learns is the zone of a volume whose id it knows.
 */
export function createWebhookServer(options: WebhookServerOptions): WebhookServer {
  const { clock, log, webhooks, metrics, tls = defaultTlsPolicy } = options;
  const byPath = new Map(webhooks.map((webhook) => [webhook.path, webhook]));
  let inProgress = 0;
  let untrustedAt = Number.NEGATIVE_INFINITY;

  async function review(webhook: Webhook, request: IncomingMessage): Promise<object> {
    if (request.method !== 'POST') throw new Refusal(405, 'only POST');
    if (!/^application\/json *(;|$)/i.test(request.headers['content-type'] ?? ''))
      throw new Refusal(400, 'content-type: expected application/json');
    if (inProgress >= maxInProgress) throw new Refusal(429, 'too many requests at once');
    inProgress += 1;
    try {
      const text = await bodyOf(request);
      try {
        const asked = readAdmissionReview(text);
        const decision = await webhook.admit(asked);
        if (!decision.allowed) note(webhook, decision);
        return admissionReview(asked.uid, decision);
      } catch (error) {
        if (error instanceof TypeError) throw new Refusal(400, error.message);
        throw error;
      }
    } finally {
      inProgress -= 1;
    }
  }

  function note({ name }: Webhook, { code, message }: AdmissionDecision & { readonly allowed: false }): void {
    metrics.refused.add({ code: String(code), webhook: name });
    log.info('object refused by a webhook', { webhook: name, code, why: message });
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const webhook = byPath.get((request.url ?? '').split('?', 1)[0] ?? '');
    const startedAt = clock.monotonic();
    let [status, body]: [number, object] = [200, {}];
    try {
      if (webhook === undefined) throw new Refusal(404, 'no webhook has this path');
      body = await review(webhook, request);
    } catch (error) {
      status = error instanceof Refusal ? error.status : 500;
      body = { message: error instanceof Refusal ? error.message : 'internal error' };
      if (status === 500) log.error('a webhook failed', { webhook: webhook?.name, ...errorFields(error) });
    }
    if (webhook !== undefined) {
      const counted = { code: String(status), webhook: webhook.name };
      metrics.requests.add(counted);
      metrics.seconds.observe(counted, (clock.monotonic() - startedAt) / 1000);
    }
    if (response.destroyed) return;
    const text = `${JSON.stringify(body)}\n`;
    // What is left of a refused body is not read.
    if (status !== 200) response.setHeader('connection', 'close');
    if (status === 429) response.setHeader('retry-after', 1);
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'x-content-type-options': 'nosniff',
    });
    response.end(text);
  }

  const server = createServer(
    {
      ...options.credentials,
      ...tls,
      headersTimeout: 5_000,
      requestTimeout: 10_000,
      handshakeTimeout: 5_000,
      connectionsCheckingInterval: 2_000,
      keepAliveTimeout: 90_000,
    },
    (request, response) => {
      respond(request, response).catch((error: unknown) => {
        log.debug('an answer of a webhook was lost', errorFields(error));
        response.destroy();
      });
    },
  );
  const cutAll = limitConnections(server, limits, clock);
  server.on('clientError', (_error, socket) => socket.destroy());
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket: TLSSocket) => {
    // The alert of a client that knows another authority: the caBundle of the webhook's configuration is outdated.
    if (!saysUntrusted(error)) return;
    metrics.untrusted.add();
    if (clock.monotonic() - untrustedAt < untrustedEveryMs) return;
    untrustedAt = clock.monotonic();
    log.warn(
      'a client of the webhooks does not trust their certificate: is the caBundle of the configuration current?',
      {
        peer: socket.remoteAddress,
      },
    );
  });

  return {
    listen: (address) => listenOn(server, address),
    reload({ cert, key }) {
      server.setSecureContext({ cert, key, ...tls });
    },
    close: () => stopListening(server, cutAll),
  };
}

/** Of a TLS alert: a Go client sends bad_certificate, others unknown_ca or certificate_unknown. */
export function saysUntrusted({ code, message }: NodeJS.ErrnoException): boolean {
  return /unknown.ca|bad.certificate|certificate.unknown/i.test(`${code} ${message}`);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > maxBodyBytes) throw new Refusal(413, `body: more than ${maxBodyBytes} bytes`);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBodyBytes) throw new Refusal(413, `body: more than ${maxBodyBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(400, 'body: cut short');
  }
  return Buffer.concat(chunks).toString('utf8');
}
