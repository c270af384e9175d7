import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One answer of a metadata service: text is a 200, undefined a 404. */
export type FakeAnswer =
  | string
  | undefined
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  /** Takes the request and never answers. */
  | typeof hang
  /** Begins an answer and never ends it. */
  | typeof slowBody
  /** Takes the request and cuts the connection. */
  | typeof cut;

export const hang = Symbol('hang');
export const slowBody = Symbol('slow body');
export const cut = Symbol('cut');

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface FakeMetadata {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  close(): Promise<void>;
}

/** A metadata service on a port of 127.0.0.1; `answer` may change its mind between requests, and take its time. */
export async function startFakeMetadata(
  answer: (request: SeenRequest) => FakeAnswer | Promise<FakeAnswer>,
): Promise<FakeMetadata> {
  const requests: SeenRequest[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const seen = { method: request.method ?? '', path: request.url ?? '', headers: request.headers };
    requests.push(seen);
    const found = answer(seen);
    // An answer that needs no wait is sent at once, because some tests count event-loop turns.
    if (found instanceof Promise) void found.then((later) => send(later, request, response));
    else send(found, request, response);
  });
  function send(found: FakeAnswer, request: IncomingMessage, response: ServerResponse): void {
    if (found === hang) return;
    if (found === cut) {
      request.socket.destroy();
      return;
    }
    if (found === slowBody) {
      response.writeHead(200, { 'content-length': '1000' }).write('{"uuid": "');
      return;
    }
    if (found === undefined) response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>404 - Not Found</h1>');
    else if (typeof found === 'string') response.writeHead(200, { 'content-type': 'text/plain' }).end(found);
    else response.writeHead(found.status, found.headers).end(found.body ?? '');
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A tree of texts by path, as EC2-style services have it. */
export function treeAnswer(tree: Readonly<Record<string, string>>): (request: SeenRequest) => FakeAnswer {
  return ({ path }) => (Object.hasOwn(tree, path) ? tree[path] : undefined);
}
