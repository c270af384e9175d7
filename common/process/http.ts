import {
  type ClientRequest,
  type IncomingMessage,
  Agent as PlainAgent,
  type AgentOptions as PlainOptions,
  request as plainRequest,
} from 'node:http';
import { Agent as TlsAgent, type AgentOptions as TlsOptions, request as tlsRequest } from 'node:https';
import { version } from '../version.ts';
import type { Clock } from './clock.ts';
import { connectPinned } from './pinned-tls.ts';
import { noProxy, type ProxyFor, throughProxy } from './proxy.ts';

export interface HttpRequest {
  readonly method?: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The time limit from the start of the request to the last byte of the answer. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Longer answers fail. Default 1 MiB. */
  readonly maxBytes?: number;
}

export interface HttpAnswer {
  readonly status: number;
  /** Case-insensitive; null when absent. */
  header(name: string): string | null;
  readonly text: string;
}

/** There was no usable answer. After `timeout` the request may have had its effect. */
export class HttpFailure extends Error {
  override readonly name = 'HttpFailure';
  readonly kind: 'timeout' | 'unreachable' | 'too-large' | 'aborted';

  constructor(kind: 'timeout' | 'unreachable' | 'too-large' | 'aborted', message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** One HTTP exchange. Returns any status, never follows a redirect. Throws only HttpFailure. */
export type Http = (request: HttpRequest) => Promise<HttpAnswer>;

export interface HttpOptions {
  readonly clock: Clock;
  readonly plain?: PlainOptions;
  readonly tls?: TlsOptions;
  /** SHA-1 or SHA-256, in upper-case hex, of a certificate that is trusted even if its chain or its name is not. */
  readonly thumbprint?: string | undefined;
  /** From `readProxies`. Default: no proxy, as always where there is a thumbprint. */
  readonly proxyFor?: ProxyFor;
}

interface Agents {
  readonly plain: PlainAgent;
  readonly tls: TlsAgent;
}

/**
 * Creates an Http with its own connection pools. The caller decides on keep-alive with `keepAlive` and `maxSockets`.
 */
export function createHttp(options: HttpOptions): { readonly http: Http; close(): void } {
  const { clock, plain, tls, thumbprint } = options;
  const proxyFor = thumbprint === undefined ? (options.proxyFor ?? noProxy) : noProxy;
  const byProxy = new Map<string | undefined, Agents>();

  function agentsFor(url: URL): Agents {
    const proxy = proxyFor(url);
    const held = byProxy.get(proxy);
    if (held !== undefined) return held;
    const made = {
      // Some proxies (tinyproxy) close the connection after each plain answer without saying so.
      plain: new PlainAgent({ keepAlive: false, ...plain, ...(proxy && { keepAlive: false }), ...throughProxy(proxy) }),
      tls: new TlsAgent({ keepAlive: false, ...tls, ...throughProxy(proxy) }),
    };
    if (thumbprint !== undefined) made.tls.createConnection = connectPinned(thumbprint);
    byProxy.set(proxy, made);
    return made;
  }

  const http: Http = (request) => {
    const { timeoutMs, signal } = request;
    const target = withoutSecrets(request.url);
    return new Promise((resolve, reject) => {
      let sent: ClientRequest | undefined;
      let ended = false;
      /** Returns whether it was still running. */
      const end = () => {
        if (ended) return false;
        ended = true;
        timer.cancel();
        signal?.removeEventListener('abort', onAbort);
        return true;
      };
      const fail: Fail = (kind, message, cause) => {
        if (!end()) return;
        sent?.destroy();
        reject(new HttpFailure(kind, message, cause));
      };
      const unreachable = (error: unknown) => fail('unreachable', `${target}: ${reasonOf(error)}`, error);
      const onAbort = () => fail('aborted', `request to ${target} was given up`);
      const timer = clock.setTimer(timeoutMs, () => fail('timeout', `no answer from ${target} within ${timeoutMs} ms`));
      if (signal?.aborted) return onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
      const answered = (answer: HttpAnswer) => {
        if (end()) resolve(answer);
      };
      try {
        const url = new URL(request.url);
        if (url.username !== '' || url.password !== '') throw new Error('a user name in the URL, expected none');
        sent = send(url, request, agentsFor(url));
        sent.once('response', (response) => read(response, request, { answered, fail, unreachable }));
        // A connection that is destroyed may fail once more.
        sent.on('error', unreachable);
        sent.end(request.body);
      } catch (error) {
        unreachable(error);
      }
    });
  };
  return {
    http,
    close() {
      for (const agents of byProxy.values()) {
        agents.plain.destroy();
        agents.tls.destroy();
      }
    },
  };
}

type Fail = (kind: HttpFailure['kind'], message: string, cause?: unknown) => void;

function send(url: URL, { method = 'GET', headers, body }: HttpRequest, agents: Agents): ClientRequest {
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const own = { 'user-agent': `mooring/${version}`, 'accept-encoding': 'gzip', ...length };
  const options = { method, headers: { ...own, ...headers } };
  if (url.protocol === 'https:') return tlsRequest(url, { ...options, agent: agents.tls });
  return plainRequest(url, { ...options, agent: agents.plain });
}

interface Ends {
  readonly answered: (answer: HttpAnswer) => void;
  readonly fail: Fail;
  readonly unreachable: (error: unknown) => void;
}

/** Reads the whole answer. */
function read(response: IncomingMessage, { url, maxBytes = 1024 * 1024 }: HttpRequest, ends: Ends): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const tooLarge = (error?: unknown) =>
    ends.fail('too-large', `answer of ${withoutSecrets(url)} exceeds ${maxBytes} bytes`, error);
  const answered = (body: Buffer) =>
    ends.answered({
      status: response.statusCode ?? 0,
      header(name) {
        const value = response.headers[name.toLowerCase()];
        return value === undefined ? null : [value].flat().join(', ');
      },
      text: body.toString('utf8'),
    });
  response.on('data', (chunk: Buffer) => {
    length += chunk.length;
    chunks.push(chunk);
    if (length > maxBytes) tooLarge();
  });
  response.once('error', ends.unreachable);
  response.once('end', () => {
    if (!response.complete) return ends.unreachable(new Error('the answer was cut'));
    const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length);
    if (response.headers['content-encoding'] !== 'gzip') return answered(body);
    unzipped(body, maxBytes).then(answered, (error) =>
      error?.code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(error) : ends.unreachable(error),
    );
  });
}

/** Loaded on use: few servers compress, and no metadata service. */
async function unzipped(body: Buffer, maxOutputLength: number): Promise<Buffer> {
  const { gunzip } = await import('node:zlib');
  return new Promise((resolve, reject) => {
    gunzip(body, { maxOutputLength }, (error, whole) => (error ? reject(error) : resolve(whole)));
  });
}

function reasonOf(error: unknown): string {
  const { message, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) };
  // Of a host with several addresses, whose errors have no message of their own.
  return (
    (message || code || 'not reached')
      // Node's hint to trust the system's roots, which does not apply here.
      .replace(/; if the root CA is installed locally, .*$/s, '')
      .replace(/^.*:wrong version number:.*$/s, 'it answers without TLS, expected TLS as the URL says')
  );
}

/** Removes query and user info, which may contain signatures and passwords. */
function withoutSecrets(url: string): string {
  return url.replace(/\?.*$/s, '').replace(/^([a-z]+:\/\/)[^/]*@/i, '$1');
}
