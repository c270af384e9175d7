import { Agent, request as plainRequest } from 'node:http';
import type { Clock } from '../../common/process/clock.ts';
import { type Http, type HttpAnswer, HttpFailure, type HttpRequest } from '../../common/process/http.ts';

const scoped = /^http:\/\/\[([0-9A-Fa-f:.]+)%(?:25)?([^\]]+)\](?::(\d+))?(\/.*)?$/;

/**
 * Wraps an Http to send `http:` requests directly with node:http, which needs less processor time and memory than
 * fetch: some sources are read every few seconds. It also supports `http://[fe80::a9fe:a9fe%25eth0]/path`: link-local
 * IPv6 addresses need an interface, which `URL`, and therefore fetch, refuses (WHATWG URL, "forbidden host code
 * point").
 */
export function withPlainHttp(http: Http, clock: Clock): Http {
  // One shared agent without keep-alive: `agent: false` would create one per request.
  const agent = new Agent({ keepAlive: false });
  return (request) => {
    const found = scoped.exec(request.url);
    if (found !== null) {
      const [, address, scope, port, path] = found;
      return exchange(
        request,
        { host: `${address}%${scope}`, port: Number(port ?? 80), path: path ?? '/' },
        agent,
        clock,
      );
    }
    if (!request.url.startsWith('http:')) return http(request);
    const { hostname, port, pathname, search } = new URL(request.url);
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    return exchange(request, { host, port: Number(port || 80), path: pathname + search }, agent, clock);
  };
}

function exchange(
  request: HttpRequest,
  target: { readonly host: string; readonly port: number; readonly path: string },
  agent: Agent,
  clock: Clock,
): Promise<HttpAnswer> {
  const maxBytes = request.maxBytes ?? 1024 * 1024;
  const name = request.url.split('?', 1)[0]!;
  const scope = target.host.indexOf('%');
  if (request.signal?.aborted) return Promise.reject(new HttpFailure('aborted', `request to ${name} was given up`));
  return new Promise((resolve, reject) => {
    const sent = plainRequest({
      ...target,
      method: request.method ?? 'GET',
      headers: { ...(scope > 0 && { host: `[${target.host.slice(0, scope)}]` }), ...request.headers },
      agent,
    });
    const fail = (kind: HttpFailure['kind'], message: string, cause?: unknown) => {
      finish();
      sent.destroy();
      reject(new HttpFailure(kind, message, cause));
    };
    const onAbort = () => fail('aborted', `request to ${name} was given up`);
    const timer = clock.setTimer(request.timeoutMs, () =>
      fail('timeout', `no answer from ${name} within ${request.timeoutMs} ms`),
    );
    const finish = () => {
      timer.cancel();
      request.signal?.removeEventListener('abort', onAbort);
    };
    request.signal?.addEventListener('abort', onAbort, { once: true });
    sent.on('error', (error) => fail('unreachable', `${name}: ${error.message}`, error));
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) fail('too-large', `answer of ${name} exceeds ${maxBytes} bytes`);
        else chunks.push(chunk);
      });
      response.on('error', (error) => fail('unreachable', `${name}: ${error.message}`, error));
      response.on('end', () => {
        finish();
        const header = (field: string) => {
          const value = response.headers[field.toLowerCase()];
          return value === undefined ? null : String(value);
        };
        resolve({ status: response.statusCode ?? 0, header, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    sent.end(request.body);
  });
}
