import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { normalizeIP } from '@fastify/rate-limit';
import type { Clock } from '../../../common/process/clock.ts';

/** How many connections a server holds, and for how long a silent one is safe. */
export interface ConnectionLimits {
  /** One costs about 80 KiB while it is served; all of them must fit into the container's memory. */
  readonly maxConnections: number;
  /** Of one address, or of one /64 of IPv6. */
  readonly maxConnectionsPerAddress: number;
  /** While every place is taken, a connection that waits for its client for so long makes room for a new one. */
  readonly patienceMs: number;
}

interface Held {
  readonly socket: Socket;
  readonly group: string;
  /** When it began to wait for its client, by the monotonic clock. */
  waitingSinceMs: number;
  /** The request under way. */
  request: IncomingMessage | undefined;
}

/** Which connections count together: a machine can take every address of its IPv6 /64. */
export function peerGroup(address: string): string {
  return normalizeIP(address.replace(/%.*$/, ''));
}

/** True while the whole request is here and its answer is not: the client waits for us, not we for the client. */
function isServed({ request }: Held): boolean {
  return request?.complete === true;
}

/** The connection that waits for its client longest; one that is served comes last. */
function leastUseful(all: Iterable<Held>): Held | undefined {
  let worst: Held | undefined;
  for (const one of all) {
    if (worst === undefined || worth(one) < worth(worst)) worst = one;
  }
  return worst;
}

const worth = (one: Held) => one.waitingSinceMs + (isServed(one) ? Number.MAX_SAFE_INTEGER / 2 : 0);

/**
 * Bounds the connections of a server, in all and of one address, so that a new client still gets in while others hold every place:
 * - an address that holds more than its share loses a connection at once to one that holds fewer;
 * - otherwise a connection whose client has been silent longer than `patienceMs` makes room, of the same address where that address is at its limit. Nothing
 *   that is being answered is cut for it, so that a burst of honest clients is served in the order of arrival.
 *
 * Silence counts before and after the TLS handshake alike.
 *
 * @returns cuts every connection, also those whose handshake is not over, which the server itself does not know yet
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

  /** Answers whether there is room for one more of the group. */
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
  // A request knows its TLS socket alone; both ends' addresses lead to the connection below it.
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
