import type { Clock } from '../../../common/process/clock.ts';
import { type Http, type HttpAnswer, HttpFailure, type HttpRequest } from '../../../common/process/http.ts';
import type { WireHandler, WireReply } from './wire.ts';

/**
 * An Http that calls a handler without a socket: on a fake clock the same answers and failures come at the same moments
 * every time. The host of the URL is ignored.
 */
export function inProcessHttp(handler: WireHandler, clock: Clock): Http {
  return (request) =>
    new Promise<HttpAnswer>((resolve, reject) => {
      const over = new AbortController();
      const target = request.url.replace(/\?.*/s, '');
      const settle = (act: () => void) => {
        timer.cancel();
        request.signal?.removeEventListener('abort', giveUp);
        act();
        over.abort();
      };
      const fail = (kind: HttpFailure['kind'], message: string) => settle(() => reject(new HttpFailure(kind, message)));
      const giveUp = () => fail('aborted', `request to ${target} was given up`);
      const timer = clock.setTimer(request.timeoutMs, () =>
        fail('timeout', `no answer from ${target} within ${request.timeoutMs} ms`),
      );
      if (request.signal?.aborted) {
        giveUp();
        return;
      }
      request.signal?.addEventListener('abort', giveUp, { once: true });
      handler(toWireRequest(request), over.signal).then(
        (reply) => receive(reply, request, fail, (answer) => settle(() => resolve(answer))),
        (error) => fail('unreachable', `${target}: ${error instanceof Error ? error.message : String(error)}`),
      );
    });
}

function receive(
  reply: WireReply,
  request: HttpRequest,
  fail: (kind: HttpFailure['kind'], message: string) => void,
  resolve: (answer: HttpAnswer) => void,
): void {
  if (reply.kind === 'silence') return;
  if (reply.kind === 'lost') {
    fail('unreachable', 'socket hang up');
    return;
  }
  const limit = request.maxBytes ?? 1024 * 1024;
  if (reply.cutAfterBytes !== undefined) fail('unreachable', 'Premature close');
  else if (Buffer.byteLength(reply.body) > limit) fail('too-large', `answer exceeds ${limit} bytes`);
  else resolve({ status: reply.status, text: reply.body, header: (name) => reply.headers[name.toLowerCase()] ?? null });
}

function toWireRequest(request: HttpRequest) {
  const url = new URL(request.url);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value;
  const { pathname: path, searchParams: query } = url;
  return { method: request.method ?? 'GET', path, query, headers, body: request.body ?? '' };
}
