import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { normalizeIP } from '@fastify/rate-limit';
import type { Clock } from '../../../common/process/clock.ts';

/** How many connections a server accepts, and how long a silent one is kept. */
export interface ConnectionLimits {
  /** A connection needs about 80 KiB while it is served; all of them must fit into the container's memory. */
  readonly maxConnections: number;
  /** Per address, or per /64 of IPv6. */
  readonly maxConnectionsPerAddress: number;
  /** At the limit, a connection whose client has been silent for this long is closed in favour of a new one. */
  readonly patienceMs: number;
}

interface Held {
  readonly socket: Socket;
  readonly group: string;
  /** Since when it waits for its client, monotonic. */
  waitingSinceMs: number;
  /** The request in progress. */
  request: IncomingMessage | undefined;
}

/** The group that a connection counts for: a machine can use every address of its IPv6 /64. */
export function peerGroup(address: string): string {
  return normalizeIP(address.replace(/%.*$/, ''));
}

/** True while a complete request waits for its answer: the client waits for us, not we for the client. */
function isServed({ request }: Held): boolean {
  return request?.complete === true;
}

/** The connection whose client has been silent longest; a served one comes last. */
function leastUseful(all: Iterable<Held>): Held | undefined {
  let worst: Held | undefined;
  for (const one of all) {
    if (worst === undefined || worth(one) < worth(worst)) worst = one;
  }
  return worst;
}

const worth = (one: Held) => one.waitingSinceMs + (isServed(one) ? Number.MAX_SAFE_INTEGER / 2 : 0);

/**
 * Limits the connections of a server, in total and per address, so that a new client gets a connection although others
 * use up the limit:
 * - an address with more than its share loses a connection at once to one with fewer;
 * - otherwise a connection whose client has been silent longer than `patienceMs` is closed, of the same address where
 *   that address is at its limit. A connection that is being served is never closed for it, so that a burst of honest
 *   clients is served in the order of arrival.
 *
 * Silence counts both before and after the TLS handshake.
 *
 * @returns a function that closes every connection, including those in their handshake, which the server itself does
 *   not know yet
 */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  clock: Pick<Clock, 'monotonic'>,
): () => void {
  const groups = new Map<string, Set<Held>>();
  const byPeer = new Map<string, Held>();

  function release(held: Held): void {
    const members = groups.get(held.group);
    if (!members?.delete(held)) return;
    if (members.size === 0) groups.delete(held.group);
  }

  function cut(held: Held): true {
    release(held);
    held.socket.destroy();
    return true;
  }

  function cutSilent(among: Iterable<Held>): boolean {
    const worst = leastUseful(among);
    if (!worst || isServed(worst) || clock.monotonic() - worst.waitingSinceMs < limits.patienceMs) return false;
    return cut(worst);
  }

  /** Returns whether the group may have one more connection. */
  function makeRoom(group: string): boolean {
    const own = groups.get(group) ?? new Set<Held>();
    if (own.size >= limits.maxConnectionsPerAddress) return cutSilent(own);
    const all = [...groups.values()];
    if (all.reduce((sum, { size }) => sum + size, 0) < limits.maxConnections) return true;
    const greediest = all.reduce((most, each) => (each.size > most.size ? each : most));
    const worst = greediest.size > own.size + 1 ? leastUseful(greediest) : undefined;
    return worst ? cut(worst) : cutSilent(all.flatMap((members) => [...members]));
  }

  server.on('connection', (socket: Socket) => {
    const group = peerGroup(socket.remoteAddress ?? '');
    if (!makeRoom(group)) {
      socket.destroy();
      return;
    }
    const held: Held = { socket, group, waitingSinceMs: clock.monotonic(), request: undefined };
    const peer = peerOf(socket);
    const members = groups.get(group) ?? new Set();
    groups.set(group, members.add(held));
    byPeer.set(peer, held);
    socket.once('close', () => {
      release(held);
      if (byPeer.get(peer) === held) byPeer.delete(peer);
    });
  });
  // A request has only its TLS socket. The addresses of both ends identify the TCP connection below it.
  const connections = new WeakMap<TLSSocket, Held>();
  server.on('secureConnection', (socket: TLSSocket) => {
    const held = byPeer.get(peerOf(socket));
    if (held) connections.set(socket, held);
  });
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const held = connections.get(request.socket as TLSSocket);
    if (!held) return;
    held.request = request;
    response.once('close', () => {
      held.request = undefined;
      held.waitingSinceMs = clock.monotonic();
    });
  });
  return () => {
    for (const members of [...groups.values()]) for (const held of [...members]) cut(held);
  };
}

function peerOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
