import type { Random } from './random.ts';

export interface BackoffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  /** The random deviation of the delay, as a share: 0.2 gives 80 % to 120 %. */
  readonly jitter?: number;
  readonly random: Random;
}

/** The delay before try number `failures + 1`: doubles with every consecutive failure, bounded, with jitter. */
export function backoffMs(failures: number, { firstMs, maxMs, jitter = 0.2, random }: BackoffOptions): number {
  const exact = Math.min(maxMs, firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 40));
  return exact * (1 - jitter + 2 * jitter * random());
}
