import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/**
 * Ports of outgoing connections begin at 32768 on Linux, later elsewhere: none of them takes a lower port between its
 * choice and its use.
 */
const lowest = 20_000;
const highest = 32_767;
const mostTries = 200;

/** A free port of the loopback address for each name, all different. Rejects when there is none. */
export async function freePorts<Name extends string>(...names: readonly Name[]): Promise<Record<Name, number>> {
  const held: Server[] = [];
  try {
    for (let tries = 0; held.length < names.length; tries += 1) {
      if (tries === mostTries) throw new Error(`no free port between ${lowest} and ${highest} in ${tries} tries`);
      const server = await tryToHold(lowest + Math.floor(Math.random() * (highest - lowest + 1)));
      if (server !== undefined) held.push(server);
    }
    const ports = held.map((server) => (server.address() as { port: number }).port);
    return Object.fromEntries(names.map((name, index) => [name, ports[index]])) as Record<Name, number>;
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

export async function freePort(): Promise<number> {
  return (await freePorts('only')).only;
}

async function tryToHold(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined;
    throw error;
  }
}
