import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzip } from 'node:zlib';
import type { Clock } from '../../../../common/process/clock.ts';
import type { ApiAnswer, ApiRequest, WatchAnswer } from '../api/answer.ts';
import { bodyLimit } from '../api/body.ts';
import type { KubeApiCore } from '../kube-api-core.ts';

/** Answers smaller than this are never compressed. */
const gzipFrom = 128 * 1024;
/** A reader that lags this far behind loses its watch. */
const maximumLag = 64 * 1024 * 1024;

const always = { 'cache-control': 'no-cache, private' };

function readBody(request: IncomingMessage): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      // What is far over the limit is read and dropped, so that the refusal reaches the client.
      if (size - chunk.length <= bodyLimit) chunks.push(chunk);
    });
    request.on('end', () => resolve(size === 0 ? undefined : Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('aborted', () => reject(new Error('aborted')));
  });
}

/** Hands each HTTP request to the core and writes what it answers. */
export function requestHandler(core: KubeApiCore, clock: Clock) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.on('error', () => {});
    let body: Uint8Array | undefined;
    try {
      body = request.method === 'GET' ? undefined : await readBody(request);
    } catch {
      return;
    }
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    const asked: ApiRequest = {
      method: request.method ?? 'GET',
      path: mark < 0 ? url : url.slice(0, mark),
      query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)),
      headers: request.headers,
      body,
    };
    const answer = core.handle(asked);
    if (answer.watch !== undefined) stream(request, response, answer);
    else if (answer.delayMs !== undefined && answer.delayMs > 0) {
      clock.setTimer(answer.delayMs, () => send(request, response, answer));
    } else send(request, response, answer);
  };
}

function send(request: IncomingMessage, response: ServerResponse, answer: ApiAnswer): void {
  if (answer.cut === true) {
    request.socket.destroy();
    return;
  }
  const headers: Record<string, string | string[]> = { ...always, ...answer.headers };
  if (answer.warnings.length > 0) {
    headers['warning'] = answer.warnings.map((text) => `299 - ${JSON.stringify(text)}`);
  }
  const zipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  if (zipped && answer.body.length > gzipFrom) {
    gzip(answer.body, { level: 1 }, (error, packed) => {
      if (error) {
        request.socket.destroy();
        return;
      }
      response.writeHead(answer.status, { ...headers, 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
      response.end(packed);
    });
    return;
  }
  response.writeHead(answer.status, { ...headers, 'content-length': Buffer.byteLength(answer.body) });
  response.end(request.method === 'HEAD' ? '' : answer.body);
}

function stream(request: IncomingMessage, response: ServerResponse, answer: WatchAnswer): void {
  const { watch } = answer;
  response.writeHead(200, { ...always, ...answer.headers });
  response.flushHeaders();
  response.on('close', () => watch.close());
  watch.start({
    line(line) {
      response.write(line.bytes());
      if (response.writableLength > maximumLag) watch.end(true);
    },
    end(cut) {
      if (cut) request.socket.destroy();
      else response.end();
    },
  });
}
