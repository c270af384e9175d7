import { createServer, type IncomingMessage, request as send } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A real HTTP proxy on loopback, to servers on loopback, whatever their name. */
export interface TestProxy {
  /** With the user `user` and the password `pass`. */
  readonly url: string;
  /** `CONNECT host:port` or `GET http://host/path`, with the credentials that came. */
  readonly seen: string[];
  close(): void;
}

/** @param portOf the port of the server that this `host` or `host:port` names */
export async function startTestProxy(portOf: (host: string) => number): Promise<TestProxy> {
  const seen: string[] = [];
  const sockets = new Set<Socket>();
  const note = ({ method, url, headers }: IncomingMessage) => {
    const [, encoded = ''] = (headers['proxy-authorization'] ?? '').split(' ');
    seen.push(`${method} ${url} ${Buffer.from(encoded, 'base64').toString()}`);
  };
  const server = createServer((request, response) => {
    note(request);
    const { host, pathname, search } = new URL(request.url!);
    const { method, headers } = request;
    const passed = send(
      { port: portOf(host), path: pathname + search, method, headers, host: '127.0.0.1' },
      (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      },
    );
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    note(request);
    const target = connect(portOf(request.url!), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      target.pipe(socket).pipe(target);
    });
    for (const one of [target, socket]) sockets.add(one.on('error', () => {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://user:pass@127.0.0.1:${port}`,
    seen,
    close() {
      server.close();
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
    },
  };
}
