import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type TestCa, testCa } from '../../../common/testing/certificates.ts';

export interface SeenRequest {
  readonly method: string;
  /** With query. */
  readonly url: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Which connection it came by, counted from 1. */
  readonly connection: number;
}

export interface TestServer {
  readonly url: string;
  readonly caPem: string;
  readonly ca: TestCa;
  readonly requests: readonly SeenRequest[];
  /** Connections ever made. */
  readonly connections: number;
  /** Connections open at one time, at most. */
  readonly mostOpen: number;
  /** Resolves when this many requests were seen. */
  seen(count: number): Promise<void>;
  close(): Promise<void>;
}

/** A local HTTPS server for one test. */
export async function startTestServer(
  handle: (request: SeenRequest, response: ServerResponse) => void,
  options: ServerOptions & { readonly ca?: never; readonly testCa?: TestCa } = {},
): Promise<TestServer> {
  const ca = options.testCa ?? (await testCa());
  const leaf = await ca.issue({ ips: ['127.0.0.1'], dnsNames: ['kubernetes.default.svc'] });
  const requests: SeenRequest[] = [];
  const numbers = new WeakMap<Socket, number>();
  const open = new Set<Socket>();
  let connections = 0;
  let mostOpen = 0;
  let watchers: (() => void)[] = [];
  const server = createServer({ cert: leaf.certPem, key: leaf.keyPem, ...options }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'https://server');
      const seen: SeenRequest = {
        method: request.method ?? '',
        url: request.url ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
        connection: numbers.get(request.socket) ?? 0,
      };
      requests.push(seen);
      for (const watcher of watchers) watcher();
      handle(seen, response);
    });
  });
  server.on('secureConnection', (socket: Socket) => {
    connections += 1;
    numbers.set(socket, connections);
    open.add(socket);
    mostOpen = Math.max(mostOpen, open.size);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem: ca.caPem,
    ca,
    requests,
    get connections() {
      return connections;
    },
    get mostOpen() {
      return mostOpen;
    },
    seen(count) {
      return new Promise((resolve) => {
        const watcher = () => {
          if (requests.length < count) return;
          watchers = watchers.filter((other) => other !== watcher);
          resolve();
        };
        watchers.push(watcher);
        watcher();
      });
    },
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

export function answerJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

/** A Status object as kube-apiserver sends it. */
export function statusObject(code: number, reason: string, message: string, details?: unknown): unknown {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(details ? { details } : {}),
    code,
  };
}
