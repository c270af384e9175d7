import type { Server as WebServer } from 'node:https';
import { isIP, type Server } from 'node:net';

/**
 * The address to listen on. An empty host means every address of the machine, of both families if it has both, and so
 * does `0.0.0.0`, as for programs in Go.
 */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Parses `host:port`, `[IPv6]:port` or `:port`. @throws Error that says what was expected */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.%a-z]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) throw new Error(`"${text}": expected HOST:PORT, [IPv6]:PORT or :PORT`);
  const host = match[1] ?? match[2] ?? '';
  // Digits and dots alone would be resolved as a host name, and listening would be retried for ever.
  if ((match[1] !== undefined && isIP(host) !== 6) || (/^[\d.]+$/.test(host) && isIP(host) === 0))
    throw new Error(`"${text}": "${host}" is no IP address, expected HOST:PORT, [IPv6]:PORT or :PORT`);
  return { host, port };
}

/** Starts the server on the address. Resolves with its port, or rejects with the system's error. */
export function listenOn(server: Server, { host, port }: ListenAddress): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(host === '' || host === '0.0.0.0' ? { port } : { host, port }, () => {
      server.removeListener('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

/**
 * Stops listening and closes every connection. Safe to repeat, also if the server never listened.
 *
 * @param cutAll closes the connections in their handshake, which the server does not know yet
 */
export function stopListening(server: WebServer, cutAll: () => void): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
    cutAll();
  });
}
