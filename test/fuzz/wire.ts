import { connect as connectPlain, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { names } from '../../common/well-known.ts';

/** How bytes reach the server: what node's own client would not send. */
export interface Delivery {
  /** `plain` = straight onto the TCP port. */
  readonly tls: 'yes' | 'plain';
  readonly parts: readonly Buffer[];
  /** What the client does after the last part: waits for the answer, sends FIN and waits, or is gone at once. */
  readonly ending: 'wait' | 'finish' | 'vanish';
  /** The loopback address to come from; default 127.0.0.1. */
  readonly from?: string;
}

export interface Heard {
  readonly bytes: Buffer;
  /** `stuck`: neither an answer's end nor a closed connection in time. */
  readonly end: 'closed' | 'reset' | 'vanished' | 'stuck' | 'refused';
}

export interface Wire {
  send(port: number, delivery: Delivery): Promise<Heard>;
}

/**
 * How connections begin, in turn. Handshakes are most of the cost of a case on both sides: most connections resume a
 * session of TLS 1.2, the only kind without new keys; each other kind comes often enough to be attacked too.
 */
const manners = [
  { version: 'TLSv1.3', resumed: false },
  { version: 'TLSv1.2', resumed: false },
  { version: 'TLSv1.3', resumed: true },
  ...Array.from({ length: 9 }, () => ({ version: 'TLSv1.2', resumed: true }) as const),
] as const;

export interface WireOptions {
  /** Whether sessions are taken up again; default true. Otherwise each connection begins as a new agent's does. */
  readonly resume?: boolean;
  /** Takes any certificate. Default false. */
  readonly insecure?: boolean;
  /** Default 20 s. */
  readonly patienceMs?: number;
}

/** @param ca the one authority that is trusted */
export function createWire(
  ca: string,
  { resume = true, insecure = false, patienceMs = 20_000 }: WireOptions = {},
): Wire {
  const contexts: Readonly<Record<'TLSv1.2' | 'TLSv1.3', SecureContext>> = {
    'TLSv1.2': createSecureContext({ ca, maxVersion: 'TLSv1.2' }),
    'TLSv1.3': createSecureContext({ ca }),
  };
  const sessions = new Map<string, Buffer>();
  let opened = 0;

  function open(port: number, delivery: Delivery, ready: () => void): Socket {
    const localAddress = delivery.from ?? '127.0.0.1';
    if (delivery.tls === 'plain') return connectPlain({ host: '127.0.0.1', port, localAddress, noDelay: true }, ready);
    const { version, resumed } = manners[resume ? opened % manners.length : 0] ?? manners[0];
    opened += 1;
    const key = `${version} ${port}`;
    const session = resumed ? sessions.get(key) : undefined;
    const secureContext = contexts[version];
    const rejectUnauthorized = !insecure;
    const servername = names.serverName;
    const options = { host: '127.0.0.1', port, localAddress, secureContext, servername, rejectUnauthorized };
    const socket = connect(session === undefined ? options : { ...options, session }, ready);
    if (resume) socket.on('session', (fresh) => sessions.set(key, fresh));
    return socket;
  }

  return {
    send: (port, delivery) =>
      new Promise((resolve) => {
        const chunks: Buffer[] = [];
        let failed: NodeJS.ErrnoException | undefined;
        let connected = false;
        let over: Heard['end'] | undefined;
        const socket = open(port, delivery, () => {
          connected = true;
          write(socket, delivery.parts, 0, () => {
            if (delivery.ending === 'finish') socket.end();
            if (delivery.ending === 'vanish') stop('vanished');
          });
        });
        const timer = setTimeout(() => stop('stuck'), patienceMs);
        function stop(end: Heard['end']): void {
          over ??= end;
          socket.destroy();
        }
        socket.on('data', (chunk: Buffer) => chunks.push(chunk));
        socket.on('error', (error) => {
          failed = error;
        });
        socket.on('close', () => {
          clearTimeout(timer);
          const end = over ?? (failed === undefined ? 'closed' : connected ? 'reset' : 'refused');
          resolve({ bytes: Buffer.concat(chunks), end });
        });
      }),
  };
}

function write(socket: Socket, parts: readonly Buffer[], from: number, done: () => void): void {
  if (socket.destroyed) return;
  const part = parts[from];
  if (part === undefined) done();
  else socket.write(part, () => setImmediate(() => write(socket, parts, from + 1, done)));
}
