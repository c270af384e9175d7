import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type RefusalCode, refusals } from './refusal.ts';

/** What keeps slow or greedy peers from holding the report API. Times in milliseconds. */
export interface ConnectionLimits {
  /** One costs about 80 KiB while it is served; they must fit beside everything else into what the container may use. */
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  readonly handshakeTimeoutMs: number;
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to its last. */
  readonly requestTimeoutMs: number;
  /** A connection on which nothing moves for so long is cut. Longer than a review of a token may take. */
  readonly idleTimeoutMs: number;
  /** How often the timeouts are looked at. */
  readonly checkIntervalMs: number;
}

export const defaultConnectionLimits: ConnectionLimits = {
  maxConnections: 256,
  maxConnectionsPerAddress: 64,
  handshakeTimeoutMs: 10_000,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 15_000,
  idleTimeoutMs: 30_000,
  checkIntervalMs: 2_000,
};

/**
 * Bounds how many connections there are, from one address too, and how long one may idle. When all are taken, the oldest of the address that holds most makes room for one
 * that holds fewer: a few that hold many cannot lock everybody else out.
 */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  const held = new Map<string, Set<Socket>>();
  let count = 0;
  server.setTimeout(limits.idleTimeoutMs);

  function release(address: string, socket: Socket): void {
    const sockets = held.get(address);
    if (!sockets?.delete(socket)) return;
    count -= 1;
    if (sockets.size === 0) held.delete(address);
  }

  /** Answers whether there is room now. */
  function makeRoom(own: number): boolean {
    const [address, sockets] = [...held].reduce((most, each) => (each[1].size > most[1].size ? each : most));
    const [oldest] = sockets;
    if (oldest === undefined || sockets.size <= own + 1) return false;
    release(address, oldest);
    oldest.destroy();
    return true;
  }

  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const own = held.get(address)?.size ?? 0;
    if (own >= limits.maxConnectionsPerAddress || (count >= limits.maxConnections && !makeRoom(own))) {
      socket.destroy();
      return;
    }
    const sockets = held.get(address) ?? new Set();
    held.set(address, sockets.add(socket));
    count += 1;
    socket.once('close', () => release(address, socket));
  });
}

function codeOf(error: { readonly code?: unknown }): RefusalCode | undefined {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'RequestTooSlow';
  if (error.code === 'HPE_HEADER_OVERFLOW') return 'HeadersTooLarge';
  return typeof error.code === 'string' && error.code.startsWith('HPE_') ? 'MalformedRequest' : undefined;
}

/** Answers over the bare socket, as far as the peer still listens, and cuts the connection. */
export function answerRefusal(code: RefusalCode, socket: Duplex & { destroySoon?(): void }): void {
  if (socket.writable) {
    const { status, meaning } = refusals[code];
    const body = JSON.stringify({ error: { code, message: meaning } });
    socket.write(
      `HTTP/1.1 ${status} ${code}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
        `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
  if (socket.destroySoon) socket.destroySoon();
  else socket.destroy();
}

/** Answers what is not even a request and cuts the connection. @returns what it was refused for, if it was one */
export function refuseConnection(error: { readonly code?: unknown }, socket: Socket): RefusalCode | undefined {
  const code = codeOf(error);
  if (code) answerRefusal(code, socket);
  else socket.destroySoon();
  return code;
}
