import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Http, HttpFailure } from '../../common/process/http.ts';

export type Json = Record<string, unknown>;

/** One call as a fake has it. */
export interface FakeCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Json;
  readonly authorization: string;
}

export interface FakeAnswer {
  readonly status: number;
  /** Sent as it is where it is a text, as JSON otherwise. */
  readonly body?: unknown;
  /** By names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Answering = (call: FakeCall) => FakeAnswer;

function answerTo(answer: Answering, method = 'GET', url = '/', text = '', authorization = '') {
  const { pathname: path, searchParams: query } = new URL(url, 'http://fake');
  const {
    status,
    headers = {},
    body,
  } = answer({
    ...{ method, path, query, authorization },
    body: text === '' ? {} : JSON.parse(text),
  });
  return { status, headers, text: body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body) };
}

/** A fake in this process. */
export function httpOf(answer: Answering): Http {
  return async ({ url, method, headers = {}, body, signal }) => {
    if (signal?.aborted) throw new HttpFailure('aborted', 'request was given up');
    const { status, headers: answered, text } = answerTo(answer, method, url, body, headers['authorization']);
    return { status, header: (name) => answered[name.toLowerCase()] ?? null, text };
  };
}

export interface ListeningFake {
  /** `http://127.0.0.1:12345`. */
  readonly url: string;
  close(): Promise<void>;
}

/** Serves a fake on a socket, for clients that are not ours. */
export async function listen({ answer }: { readonly answer: Answering }): Promise<ListeningFake> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method, url, headers: given } = request;
      const sent = Buffer.concat(parts).toString();
      const { status, headers, text } = answerTo(answer, method, url, sent, given.authorization);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}
