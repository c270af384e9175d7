import { request as plainRequest } from 'node:http';
import type { Clock } from '../../common/process/clock.ts';
import { type Http, type HttpAnswer, HttpFailure, type HttpRequest } from '../../common/process/http.ts';

const scoped = /^http:\/\/\[([0-9A-Fa-f:.]+)%(?:25)?([^\]]+)\](?::(\d+))?(\/.*)?$/;

/**
 * The given Http, with one ability more: `http://[fe80::a9fe:a9fe%25eth0]/…`. Link-local IPv6 addresses need an interface, and `URL`, hence every
 * fetch, refuses one (WHATWG URL, "forbidden host code point").
 */
export function withScopedHosts(http: Http, clock: Clock): Http {
  return (request) => {
    const found = scoped.exec(request.url);
    if (found === null) return http(request);
    const [, address, scope, port, path] = found;
    return exchange(request, { host: `${address}%${scope}`, port: Number(port ?? 80), path: path ?? '/' }, clock);
  };
}

function exchange(
  request: HttpRequest,
  target: { readonly host: string; readonly port: number; readonly path: string },
  clock: Clock,
): Promise<HttpAnswer> {
  const maxBytes = request.maxBytes ?? 1024 * 1024;
  return new Promise((resolve, reject) => {
    const sent = plainRequest({
      ...target,
      method: request.method ?? 'GET',
      headers: { host: `[${target.host.split('%')[0]}]`, ...request.headers },
      agent: false,
    });
    const fail = (kind: HttpFailure['kind'], message: string, cause?: unknown) => {
      finish();
      sent.destroy();
      reject(new HttpFailure(kind, message, cause));
    };
    const onAbort = () => fail('aborted', `request to ${target.host} was given up`);
    const timer = clock.setTimer(request.timeoutMs, () =>
      fail('timeout', `no answer from ${target.host} within ${request.timeoutMs} ms`),
    );
    const finish = () => {
      timer.cancel();
      request.signal?.removeEventListener('abort', onAbort);
    };
    if (request.signal?.aborted) return onAbort();
    request.signal?.addEventListener('abort', onAbort, { once: true });
    sent.on('error', (error) => fail('unreachable', `${target.host}: ${error.message}`, error));
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) fail('too-large', `answer of ${target.host} exceeds ${maxBytes} bytes`);
        else chunks.push(chunk);
      });
      response.on('error', (error) => fail('unreachable', `${target.host}: ${error.message}`, error));
      response.on('end', () => {
        finish();
        const header = (name: string) => {
          const value = response.headers[name.toLowerCase()];
          return value === undefined ? null : String(value);
        };
        resolve({ status: response.statusCode ?? 0, header, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    sent.end(request.body);
  });
}
