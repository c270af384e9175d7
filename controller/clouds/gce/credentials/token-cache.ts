import type { Clock } from '../../../../common/process/clock.ts';
import type { TokenSource } from './token.ts';

export interface TokenCache {
  /** A token that is good for a while; those who need one share one renewal. Throws what the source throws. */
  get(): Promise<string>;
  /** The API refused the token: the next `get` reads another one. */
  forget(): void;
}

interface Held {
  readonly value: string;
  readonly readAt: number;
  /** Monotonic. From here on another one is tried; until `expiresAt` this one serves if there is none. */
  renewAt: number;
  readonly expiresAt: number;
}

const renewBeforeMs = 300_000;
const retryMs = 10_000;

export function createTokenCache(source: TokenSource, clock: Clock): TokenCache {
  let held: Held | undefined;
  let renewal: Promise<string> | undefined;

  async function renew(): Promise<string> {
    try {
      const { value, lifeMs } = await source();
      const readAt = clock.monotonic();
      // The metadata service gives out a token until it ends, so little of its life may be left.
      const renewAt = readAt + Math.max(lifeMs - renewBeforeMs, lifeMs / 2);
      held = { value, readAt, renewAt, expiresAt: readAt + lifeMs };
      return value;
    } catch (error) {
      if (held === undefined || clock.monotonic() >= held.expiresAt) throw error;
      held.renewAt = Math.min(clock.monotonic() + retryMs, held.expiresAt);
      return held.value;
    }
  }

  return {
    get() {
      if (held !== undefined && clock.monotonic() < held.renewAt) return Promise.resolve(held.value);
      renewal ??= renew().finally(() => {
        renewal = undefined;
      });
      return renewal;
    },
    forget() {
      // Calls that were sent together are refused together, and a token that is new was refused for another reason.
      if (held !== undefined && clock.monotonic() - held.readAt > retryMs) held = undefined;
    },
  };
}
