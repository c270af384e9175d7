import { createServer, type Server, type Socket } from 'node:net';

/** TCP servers by key (`host:port`); what is no longer wanted is closed with all its connections. */
export interface TcpServers {
  /** Opens what is missing and closes what is too much. Safe to repeat; the last call wins. */
  want(wanted: ReadonlyMap<string, Endpoint>): void;
  /** Resolves when the last `want` has been done as far as it could be. */
  settled(): Promise<void>;
  /** `host:port` that could not be opened, and why. */
  readonly failures: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly onConnection: (socket: Socket) => void;
}

interface Open {
  readonly server: Server;
  readonly sockets: Set<Socket>;
  /** Of the last `want`: the same server goes on with another handler. */
  endpoint: Endpoint;
  readonly opened: Promise<void>;
}

export function createTcpServers(): TcpServers {
  const open = new Map<string, Open>();
  const failures = new Map<string, string>();
  const closing = new Set<Promise<void>>();

  function start(key: string, endpoint: Endpoint): void {
    const sockets = new Set<Socket>();
    const server = createServer({ noDelay: true }, (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      // The user of the socket is told of its end by 'close'.
      socket.on('error', () => {});
      entry.endpoint.onConnection(socket);
    });
    const opened = new Promise<void>((resolve) => {
      server.once('listening', resolve);
      server.once('error', (error) => {
        failures.set(key, error.message);
        if (open.get(key) === entry) open.delete(key);
        resolve();
      });
    });
    const entry: Open = { server, sockets, endpoint, opened };
    open.set(key, entry);
    failures.delete(key);
    server.listen(endpoint.port, endpoint.host);
  }

  function end({ server, sockets }: Open): void {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    for (const socket of sockets) socket.destroy();
    closing.add(closed);
    void closed.then(() => closing.delete(closed));
  }

  return {
    failures,
    want(wanted) {
      for (const [key, entry] of open) {
        if (wanted.has(key)) continue;
        open.delete(key);
        end(entry);
      }
      for (const [key, endpoint] of wanted) {
        const entry = open.get(key);
        if (entry) entry.endpoint = endpoint;
        else start(key, endpoint);
      }
    },
    async settled() {
      await Promise.all([...open.values()].map(({ opened }) => opened));
      await Promise.all(closing);
    },
    async close() {
      for (const entry of open.values()) end(entry);
      open.clear();
      await Promise.all(closing);
    },
  };
}
