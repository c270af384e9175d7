import { Agent as PlainAgent, type AgentOptions as PlainOptions } from 'node:http';
import { Agent as TlsAgent, type AgentOptions as TlsOptions } from 'node:https';
import fetch, { type BodyInit } from 'node-fetch';
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

  const http: Http = async (request) => {
    // node-fetch destroys the body of a request that was aborted before it began, and does not handle the resulting
    // error.
    if (request.signal?.aborted)
      throw new HttpFailure('aborted', `request to ${withoutSecrets(request.url)} was given up`);
    const cancel = new AbortController();
    let timedOut = false;
    const timer = clock.setTimer(request.timeoutMs, () => {
      timedOut = true;
      cancel.abort();
    });
    const onAbort = () => cancel.abort();
    request.signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const answer = await fetch(request.url, {
        method: request.method ?? 'GET',
        headers: { ...request.headers },
        body: (request.body ?? null) as BodyInit | null,
        redirect: 'manual',
        signal: cancel.signal as never,
        agent: (url: URL) => agentsFor(url)[url.protocol === 'https:' ? 'tls' : 'plain'],
        size: request.maxBytes ?? 1024 * 1024,
      });
      const text = await answer.text();
      return { status: answer.status, header: (name) => answer.headers.get(name), text };
    } catch (error) {
      throw failureOf(error, request, timedOut);
    } finally {
      timer.cancel();
      request.signal?.removeEventListener('abort', onAbort);
    }
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

function failureOf(error: unknown, request: HttpRequest, timedOut: boolean): HttpFailure {
  const target = withoutSecrets(request.url);
  if (timedOut) return new HttpFailure('timeout', `no answer from ${target} within ${request.timeoutMs} ms`, error);
  if (request.signal?.aborted) return new HttpFailure('aborted', `request to ${target} was given up`, error);
  const type = error instanceof Error && 'type' in error ? error.type : undefined;
  if (type === 'max-size') {
    return new HttpFailure('too-large', `answer of ${target} exceeds ${request.maxBytes ?? 1024 * 1024} bytes`, error);
  }
  // node-fetch prefixes its message with the whole URL, including the query.
  const reason = (error instanceof Error ? error.message : String(error))
    .replace(/^.*, reason: /s, '')
    // Node's hint to trust the system's roots, which does not apply here.
    .replace(/; if the root CA is installed locally, .*$/s, '')
    .replace(/^.*:wrong version number:.*$/s, 'it answers without TLS, expected TLS as the URL says');
  return new HttpFailure('unreachable', `${target}: ${reason.replaceAll(request.url, target)}`, error);
}

/** Removes query and user info, which may contain signatures and passwords. */
function withoutSecrets(url: string): string {
  return url.replace(/\?.*$/s, '').replace(/^([a-z]+:\/\/)[^/]*@/i, '$1');
}
