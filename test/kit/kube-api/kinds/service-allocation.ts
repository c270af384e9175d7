import type { Random } from '../../../../common/process/random.ts';

/** Which Service holds which cluster address and node port. */
export interface ServiceAllocations {
  readonly addresses: Map<string, string>;
  readonly ports: Map<number, string>;
}

export function createAllocations(): ServiceAllocations {
  return { addresses: new Map(), ports: new Map() };
}

export const firstNodePort = 30_000;
export const lastNodePort = 32_767;

/** Whether an address lies in 10.96.0.0/12, the service range of this server. */
export function inServiceRange(address: string): boolean {
  const parts = address.split('.').map(Number);
  return parts[0] === 10 && (parts[1] ?? 0) >= 96 && (parts[1] ?? 0) <= 111;
}

/** A free address of the service range. */
export function freeAddress(held: ReadonlyMap<string, string>, random: Random): string {
  for (;;) {
    const number = 256 + Math.floor(random() * (2 ** 20 - 512));
    const address = `10.${96 + (number >>> 16)}.${(number >>> 8) & 255}.${number & 255}`;
    if (!held.has(address)) return address;
  }
}

/** A free node port that is not in `taken`; undefined when all are given out. */
export function freePort(
  held: ReadonlyMap<number, string>,
  taken: ReadonlySet<number>,
  random: Random,
): number | undefined {
  const count = lastNodePort - firstNodePort + 1;
  const start = Math.floor(random() * count);
  for (let step = 0; step < count; step += 1) {
    const port = firstNodePort + ((start + step) % count);
    if (!held.has(port) && !taken.has(port)) return port;
  }
  return undefined;
}
