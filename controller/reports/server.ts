import { createServer, type Server } from 'node:https';
import type { Socket } from 'node:net';
import rateLimit, { normalizeIP, type RateLimitOptions } from '@fastify/rate-limit';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { Clock } from '../../common/process/clock.ts';
import { errorFields, type Log } from '../../common/process/log.ts';
import { maxReportBytes, type ReportAnswer, type ReportReason, reportPath } from '../../common/report.ts';
import type { Leadership } from '../kube/leadership.ts';
import { limitConnections } from '../runtime/serving/connection-limits.ts';
import type { ServingCredentials } from '../runtime/serving/credentials.ts';
import { type ListenAddress, listenOn, stopListening } from '../runtime/serving/listen-address.ts';
import { defaultTlsPolicy, type TlsPolicy } from '../runtime/serving/tls-policy.ts';
import type { Attestor } from './attestation/attestor.ts';
import {
  answerRefusal,
  defaultConnectionLimits,
  type ReportConnectionLimits,
  refuseConnection,
} from './connections.ts';
import type { ReportMetrics, ReportOutcome } from './metrics.ts';
import { rateLimitStore } from './rate-limit-store.ts';
import { createReportReader } from './read-report.ts';
import { ReportRefusal, unproved } from './refusal.ts';
import { createRefusalLog } from './refusal-log.ts';
import { nextReportSeconds } from './report-interval.ts';
import { bearerToken, isJsonType, leaderLocation, parseBody, refusalOf } from './request.ts';
import type { Sender } from './sender.ts';
import type { Identity } from './sender-identity.ts';
import type { ReportStore } from './store.ts';

export interface ReportLimits extends ReportConnectionLimits {
  /** Reports of one node a minute. */
  readonly perNode: number;
  /**
   * Requests per minute from one address without a proved node. Agents may share an address, so requests with a proved
   * node are not counted.
   */
  readonly perAddress: number;
}

export const defaultReportLimits: ReportLimits = { ...defaultConnectionLimits, perNode: 20, perAddress: 300 };

export interface ReportServerOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ReportMetrics;
  readonly credentials: ServingCredentials;
  readonly identity: Identity;
  readonly store: ReportStore;
  /** Undefined: no evidence is requested, and evidence in reports is ignored. */
  readonly attestor?: Attestor | undefined;
  readonly leadership: Pick<Leadership, 'leading' | 'leaderReportUrl'>;
  /** Whether the sender's Node is initialised; undefined when it is not known yet. */
  status(nodeName: string): { readonly initialized: boolean; readonly reasons: readonly ReportReason[] } | undefined;
  /** The number of Nodes that may report. */
  fleetSize(): number;
  readonly limits?: Partial<ReportLimits>;
  readonly tls?: TlsPolicy | undefined;
}

export interface ReportServer {
  /** Starts listening. @returns the port, which differs from the requested one if that is 0 */
  listen(address: ListenAddress): Promise<number>;
  /** Uses these credentials from the next connection on. */
  reload(credentials: ServingCredentials): void;
  /** Stops listening and closes every connection. Safe to repeat. */
  close(): Promise<void>;
}

/**
 * The report API. The leader accepts reports, and standbys redirect to it. Every answer closes its connection, because
 * open ones need memory. The body is read before the answer, but parsed only when the sender is proved. The name of the
 * node never comes from the body.
 */
export async function createReportServer(options: ReportServerOptions): Promise<ReportServer> {
  const { clock, log, metrics, identity, store, leadership, attestor, tls = defaultTlsPolicy } = options;
  const limits: ReportLimits = { ...defaultReportLimits, ...options.limits };
  const read = createReportReader();
  const logRefusal = createRefusalLog(log, clock);
  const senders = new WeakMap<FastifyRequest, Sender>();
  const arrivals = new WeakMap<FastifyRequest, { readonly atMs: number; readonly isJson: boolean }>();
  const answered = new WeakSet<Socket>();
  let cutAll = () => {};

  const app = fastify({
    logger: false,
    bodyLimit: maxReportBytes,
    exposeHeadRoutes: false,
    clientErrorHandler: (error, socket) => {
      // Data after an answered request is not another request.
      if (answered.has(socket)) return socket.destroySoon();
      const code = refuseConnection(error, socket);
      if (code) metrics.report(code, 0);
    },
    // For a URL that does not decode, which never reaches a route or a hook.
    frameworkErrors(error, request, reply) {
      reply.header('connection', 'close');
      void refuse(request, reply, error);
    },
    serverFactory(handler) {
      const server = createServer(
        {
          ...options.credentials,
          ...tls,
          requestTimeout: limits.requestTimeoutMs,
          headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
          handshakeTimeout: limits.handshakeTimeoutMs,
          connectionsCheckingInterval: limits.checkIntervalMs,
          maxHeaderSize: 24 * 1024,
          // Refused below, with our own error.
          requireHostHeader: false,
        },
        handler,
      );
      server.on('connect', (_request, socket) => {
        answerRefusal('UnknownPath', socket);
        metrics.report('UnknownPath', 0);
      });
      server.on('checkExpectation', handler);
      server.maxRequestsPerSocket = 1;
      server.setTimeout(limits.idleTimeoutMs);
      cutAll = limitConnections(server, limits, clock);
      return server;
    },
  });
  const server = app.server as Server;

  await app.register(rateLimit, { global: false, store: rateLimitStore(clock) });
  const window: RateLimitOptions = { timeWindow: 60_000 };
  const addressLimit = app.createRateLimit({
    ...window,
    max: limits.perAddress,
    // A closed socket has no address; all of them share one counter.
    keyGenerator: (request) => (request.ip === undefined ? 'gone' : normalizeIP(request.ip)),
  });
  const nodeLimit = app.createRateLimit({
    ...window,
    max: limits.perNode,
    keyGenerator: (request) => senders.get(request)?.nodeUid ?? '',
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

  function finish(request: FastifyRequest, outcome: ReportOutcome): void {
    const nowMs = clock.monotonic();
    metrics.report(outcome, (nowMs - (arrivals.get(request)?.atMs ?? nowMs)) / 1000);
  }

  function refuse(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
    const refusal = refusalOf(error);
    finish(request, refusal.code);
    answered.add(request.raw.socket);
    const { code, field, message, status, retryAfterSeconds } = refusal;
    if (status === 500) log.error('the report API failed', errorFields(refusal.cause));
    else if (status !== 307) {
      const node = senders.get(request)?.nodeName ?? refusal.node;
      logRefusal({ code, address: request.ip, node, field, ...(refusal.cause ? errorFields(refusal.cause) : {}) });
    }
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
    return reply.status(status).send({ error: field === undefined ? { code, message } : { code, message, field } });
  }

  async function identify(request: FastifyRequest): Promise<Sender> {
    const token = bearerToken(request);
    const address = await addressLimit(request, { increment: false });
    // Many agents may share one address: one that misuses it must not lock out those that were proved before.
    if (!address.isAllowed && address.remaining === 0 && !identity.knows(token)) {
      throw new ReportRefusal('AddressRateLimited', undefined, {
        retryAfterSeconds: Math.max(1, address.ttlInSeconds),
      });
    }
    try {
      return await identity.identify(token);
    } catch (error) {
      if (error instanceof ReportRefusal && unproved.has(error.code)) await addressLimit(request);
      throw error;
    }
  }

  async function take(request: FastifyRequest): Promise<ReportAnswer> {
    const sender = await identify(request);
    senders.set(request, sender);
    const node = await nodeLimit(request);
    if (!node.isAllowed && node.isExceeded) {
      throw new ReportRefusal('NodeRateLimited', undefined, { retryAfterSeconds: Math.max(1, node.ttlInSeconds) });
    }
    if (arrivals.get(request)?.isJson !== true) throw new ReportRefusal('NotJsonType');
    const { report, fault } = read(parseBody(request.body));
    if (!report) {
      const message = `${fault.field}: expected ${fault.expected}, found ${fault.value}`;
      throw new ReportRefusal('InvalidReport', message, { field: fault.field });
    }
    const judgement = await attestor?.judge(sender, report);
    const outcome = store.put(sender, report, judgement);
    finish(request, outcome);
    const stored = store.get(sender.nodeName);
    const newest = stored?.report;
    // The agent repeated a report whose answer was lost.
    const repeated = newest?.agentId === report.agentId && newest.sequence === report.sequence;
    const { initialized, reasons } = options.status(sender.nodeName) ?? { initialized: false, reasons: [] };
    const accepted = outcome === 'kept' || repeated;
    const { attestation, refusedEvidence } = stored ?? {};
    const challenge = attestor?.challenge(sender, report, { attestation, judgement }, !initialized);
    return {
      accepted,
      initialized,
      reasons:
        refusedEvidence === undefined ? reasons : [...reasons, { code: 'EvidenceRefused', message: refusedEvidence }],
      nextReportSeconds: nextReportSeconds(options.fleetSize()),
      ...(challenge !== undefined && { challenge }),
    };
  }

  app.addHook('onRequest', async (request, reply) => {
    arrivals.set(request, { atMs: clock.monotonic(), isJson: isJsonType(request) });
    // The framework refuses some content types before it reads the body, and a client that still sends may miss the
    // answer.
    request.headers['content-type'] = 'application/json';
    reply.header('connection', 'close');
  });
  app.addHook('onSend', async (request) => {
    answered.add(request.raw.socket);
  });
  app.setErrorHandler((error, request, reply) => refuse(request, reply, error));
  app.setNotFoundHandler((request, reply) => refuse(request, reply, new ReportRefusal('UnknownPath')));
  app.post(reportPath, async (request, reply) => {
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      throw new ReportRefusal('MalformedRequest', 'The request has no Host header.');
    }
    if (leadership.leading) return take(request);
    reply.header('location', leaderLocation(leadership.leaderReportUrl()));
    throw new ReportRefusal('NotLeader');
  });
  await app.ready();

  let closed: Promise<void> | undefined;
  return {
    listen: (address) => listenOn(server, address),
    reload({ cert, key }) {
      server.setSecureContext({ cert, key, ...tls });
    },
    close() {
      closed ??= stopListening(server, cutAll).then(() => app.close());
      return closed;
    },
  };
}
