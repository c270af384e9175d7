import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { WireHandler, WireReply, WireRequest } from './wire.ts';

export interface WireServer {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Breaks every connection and waits until the port is free. Safe to repeat. */
  stop(): Promise<void>;
}

const maxBody = 4 * 1024 * 1024;

/** Serves a handler on 127.0.0.1. @param port 0 = any free one */
export async function serveWire(handler: WireHandler, port = 0): Promise<WireServer> {
  const stopping = new AbortController();
  const server = createServer((request, response) => {
    const gone = new AbortController();
    const leave = () => gone.abort();
    response.once('close', leave);
    stopping.signal.addEventListener('abort', leave, { once: true });
    answer(handler, request, response, gone.signal)
      .catch(() => response.destroy())
      .finally(() => stopping.signal.removeEventListener('abort', leave));
  });
  // Longer than any client's pool keeps an idle connection, so that the client is the one to close it.
  server.keepAliveTimeout = 120_000;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      stopping.abort();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(handler: WireHandler, incoming: IncomingMessage, response: ServerResponse, signal: AbortSignal) {
  const request = await read(incoming);
  if (!request) {
    response.writeHead(413).end();
    return;
  }
  let reply: WireReply;
  try {
    reply = await handler(request, signal);
  } catch (error) {
    if (signal.aborted) return;
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    reply = {
      kind: 'answer',
      status: 500,
      headers: {},
      body: JSON.stringify({ error: { code: 'internal', message } }),
    };
  }
  write(reply, response);
}

function write(reply: WireReply, response: ServerResponse): void {
  if (reply.kind === 'silence' || response.destroyed) return;
  if (reply.kind === 'lost') {
    response.destroy();
    return;
  }
  const body = Buffer.from(reply.body);
  response.writeHead(reply.status, { ...reply.headers, 'content-length': body.length });
  if (reply.cutAfterBytes === undefined) {
    response.end(body);
    return;
  }
  response.write(body.subarray(0, Math.min(reply.cutAfterBytes, body.length - 1)), () => response.destroy());
}

async function read(incoming: IncomingMessage): Promise<WireRequest | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBody) return undefined;
    chunks.push(chunk);
  }
  const [path = '/', query = ''] = splitOnce(incoming.url ?? '/', '?');
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(incoming.headers))
    headers[name] = Array.isArray(value) ? value.join(', ') : value;
  const body = Buffer.concat(chunks).toString('utf8');
  return { method: incoming.method ?? 'GET', path, query: new URLSearchParams(query), headers, body };
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
