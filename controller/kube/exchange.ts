import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { gunzip } from 'node:zlib';
import type { Clock } from '../../common/process/clock.ts';
import { KubeError } from './api.ts';

export interface Outgoing {
  readonly agent: Agent;
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly method: string;
  /** With query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Names this exchange in messages: the path without its query. */
  readonly name: string;
}

export interface Incoming {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The maximal length of an answer; a longer one would not fit into the process's memory. */
const maxAnswerBytes = 256 * 1024 * 1024;

/**
 * Sends one request and reads the whole answer. Throws a KubeError of status 0 (`Timeout`, `Unreachable`, `Aborted`)
 * without a complete answer within `timeoutMs`, including the wait for a free socket.
 *
 * It uses node:https with our own reader instead of node-fetch, because that is measurably faster: 2,000 patches
 * answered with 12 KB over 32 sockets to a local TLS server took 128-157 ms (130-169 ms of CPU), bare node:https
 * 137-190 (148-240), node-fetch 368-561 (448-681); Node 24.21, two cores.
 */
export function exchange(outgoing: Outgoing, clock: Clock, timeoutMs: number): Promise<Incoming> {
  return new Promise((resolve, reject) => {
    const sent = open(
      outgoing,
      clock,
      timeoutMs,
      (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          length += chunk.length;
          if (length > maxAnswerBytes) sent.fail(new Error(`the answer exceeds ${maxAnswerBytes} bytes`));
          else chunks.push(chunk);
        });
        response.on('end', () => {
          if (!response.complete) return sent.fail(new Error('the answer was cut'));
          const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length);
          const done = (whole: Buffer) => {
            if (sent.settle()) resolve({ status: response.statusCode ?? 0, headers: response.headers, body: whole });
          };
          if (response.headers['content-encoding'] !== 'gzip') return done(body);
          gunzip(body, { maxOutputLength: maxAnswerBytes }, (error, whole) => (error ? sent.fail(error) : done(whole)));
        });
      },
      reject,
    );
  });
}

/** A request whose answer is a stream. */
export interface OpenRequest {
  readonly request: ClientRequest;
  /** Cancels the deadline; true the first time. */
  settle(): boolean;
  /** Ends the request with this error. */
  fail(error: unknown): void;
}

/**
 * Sends a request. Calls `onResponse` when the headers of the answer have arrived, and `onFailure` at most once and
 * never after `settle`. The deadline and the signal apply until `settle`.
 */
export function open(
  outgoing: Outgoing,
  clock: Clock,
  timeoutMs: number,
  onResponse: (response: IncomingMessage) => void,
  onFailure: (error: KubeError) => void,
): OpenRequest {
  const { agent, host, port, method, path, headers, body, signal, name } = outgoing;
  let settled = false;
  const send = outgoing.secure ? tlsRequest : plainRequest;
  const request = send({ agent, host, port, method, path, headers });
  const settle = () => {
    if (settled) return false;
    settled = true;
    timer.cancel();
    signal?.removeEventListener('abort', onAbort);
    return true;
  };
  const end = (reason: string, message: string, cause?: unknown) => {
    if (!settle()) return;
    request.destroy();
    onFailure(new KubeError({ status: 0, reason, message: `${method} ${name}: ${message}`, cause }));
  };
  const fail = (error: unknown) => end('Unreachable', error instanceof Error ? error.message : String(error), error);
  const timer = clock.setTimer(timeoutMs, () => end('Timeout', `no answer within ${Math.round(timeoutMs)} ms`));
  const onAbort = () => end('Aborted', 'given up', signal?.reason);
  signal?.addEventListener('abort', onAbort);
  request.on('error', fail);
  request.on('response', (response) => {
    response.on('error', fail);
    onResponse(response);
  });
  if (signal?.aborted) onAbort();
  else request.end(body);
  return { request, settle, fail };
}
