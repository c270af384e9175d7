import { connect as connectPlain, type Socket } from 'node:net';
import { connect } from 'node:tls';

export interface SilentPeers {
  /** How many connections are open now. */
  readonly open: number;
  stop(): void;
}

export interface SilentPeersOptions {
  readonly port: number;
  readonly count: number;
  /** The loopback address that the n-th connection comes from. */
  readonly from: (n: number) => string;
  /** With the TLS handshake done; otherwise not a byte is sent. */
  readonly tls: boolean;
  /** A connection that is cut is opened again after so long. Default: never. */
  readonly redialMs?: number;
}

/** Opens connections and says nothing on them. */
export function holdSilent({ port, count, from, tls, redialMs }: SilentPeersOptions): SilentPeers {
  const sockets = new Set<Socket>();
  let stopped = false;

  function dial(n: number): void {
    if (stopped) return;
    const options = { host: '127.0.0.1', port, localAddress: from(n), rejectUnauthorized: false };
    const socket: Socket = tls ? connect(options) : connectPlain(options);
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      if (redialMs !== undefined) setTimeout(dial, redialMs, n).unref();
    });
    socket.resume();
  }

  for (let n = 0; n < count; n += 1) dial(n);
  return {
    get open() {
      return sockets.size;
    },
    stop() {
      stopped = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}
