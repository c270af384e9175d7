import type { Clock } from '../../common/process/clock.ts';

/** A token or an access key that a service gives for a time. */
export interface Expiring<T> {
  readonly value: T;
  /** Counted from when it was read. */
  readonly lifeMs: number;
}

export interface ExpiringCredential<T> {
  /**
   * A credential that is good for a while. Those who need one share one renewal; while that fails, the held one serves
   * until its end. Throws what `read` throws.
   */
  get(): Promise<T>;
  /** The API refused the credential: the next `get` reads another one. */
  forget(): void;
}

interface Held<T> {
  readonly value: T;
  readonly readAt: number;
  /** Monotonic. From here on another one is tried; until `expiresAt` this one serves if there is none. */
  renewAt: number;
  readonly expiresAt: number;
}

const renewBeforeMs = 300_000;
const retryMs = 10_000;

/** @param read safe to repeat */
export function createExpiringCredential<T>(read: () => Promise<Expiring<T>>, clock: Clock): ExpiringCredential<T> {
  let held: Held<T> | undefined;
  let renewal: Promise<T> | undefined;

  async function renew(): Promise<T> {
    try {
      const { value, lifeMs } = await read();
      const readAt = clock.monotonic();
      // A metadata service gives out one credential until it ends, so little of its life may be left.
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
      // Calls that were sent together are refused together, and one that is new was refused for another reason.
      if (held !== undefined && clock.monotonic() - held.readAt > retryMs) held = undefined;
    },
  };
}
