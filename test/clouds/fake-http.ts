import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type Http, HttpFailure } from '../../common/process/http.ts';

export type Json = Record<string, unknown>;

/** One call as a fake has it. */
export interface FakeCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Of JSON; empty for anything else. */
  readonly body: Json;
  readonly authorization: string;
}

/** A call with everything that was sent. */
export interface ReceivedCall extends FakeCall {
  /** The body as it is. */
  readonly text: string;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where the fake was reached: `http://127.0.0.1:12345`. */
  readonly origin: string;
}

export interface FakeAnswer {
  readonly status: number;
  /** Sent as it is where it is a text, as JSON otherwise. */
  readonly body?: unknown;
  /** By names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Answering = (call: ReceivedCall) => FakeAnswer;

interface Received {
  readonly method?: string | undefined;
  readonly url: string;
  readonly text?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

function answerTo(answer: Answering, { method = 'GET', url, text = '', headers: given = {} }: Received) {
  const { pathname: path, searchParams: query, origin } = new URL(url);
  const authorization = given['authorization'] ?? '';
  const {
    status,
    headers = {},
    body,
  } = answer({
    method,
    path,
    query,
    origin,
    text,
    authorization,
    headers: given,
    body: text.startsWith('{') ? JSON.parse(text) : {},
  });
  return { status, headers, text: body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body) };
}

/** A fake in this process. */
export function httpOf(answer: Answering): Http {
  return async ({ url, method, headers = {}, body, signal }) => {
    if (signal?.aborted) throw new HttpFailure('aborted', 'request was given up');
    const { status, headers: answered, text } = answerTo(answer, { method, url, text: body, headers });
    return { status, header: (name) => answered[name.toLowerCase()] ?? null, text };
  };
}

export interface ListeningFake {
  /** `http://127.0.0.1:12345`. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves a fake on a socket, for clients that are not ours.
 *
 * @param tls certificate and key in PEM, for clients that send no token in the clear
 */
export async function listen(
  { answer }: { readonly answer: Answering },
  tls?: { readonly cert: string; readonly key: string },
): Promise<ListeningFake> {
  const scheme = tls === undefined ? 'http' : 'https';
  const respond = (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method, url = '/', headers: given } = request;
      const sent = Buffer.concat(parts).toString();
      const received = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
      const whole = `${scheme}://${given.host}${url}`;
      const { status, headers, text } = answerTo(answer, { method, url: whole, text: sent, headers: received });
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(text);
    });
  };
  const server = tls === undefined ? createServer(respond) : createTlsServer(tls, respond);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}
