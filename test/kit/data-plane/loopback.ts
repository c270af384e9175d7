import { createServer, type Server } from 'node:net';
import type { Random } from '../../../common/process/random.ts';

/**
 * A block of loopback addresses of this world: every VM and every load balancer has one, and two worlds on one machine
 * never share any.
 */
export interface LoopbackBlock {
  /** The address that stands for this thing, the same every time; addresses run from 127.x.0.2 on. */
  addressOf(key: string): string;
  release(): Promise<void>;
}

/** Ports below 1024 need rights that a test has not; they are moved up. */
export function portOnLoopback(port: number): number {
  return port < 1024 ? port + 10_000 : port;
}

const lockPort = 10_256;
const tries = 50;

export async function reserveLoopback(random: Random): Promise<LoopbackBlock> {
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const block = 1 + Math.floor(random() * 254);
    const lock = await tryListen(`127.${block}.0.1`, lockPort);
    if (lock === undefined) continue;
    const known = new Map<string, string>();
    return {
      addressOf(key) {
        const found = known.get(key);
        if (found !== undefined) return found;
        const number = known.size + 2;
        const address = `127.${block}.${number >> 8}.${number & 255}`;
        known.set(key, address);
        return address;
      },
      release: () => new Promise((resolve) => lock.close(() => resolve())),
    };
  }
  throw new Error(`no free block of loopback addresses in ${tries} tries`);
}

function tryListen(host: string, port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, host, () => resolve(server));
  });
}
