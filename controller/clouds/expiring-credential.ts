import type { Clock } from '../../common/process/clock.ts';

/** A token or an access key that a service gives for a time. */
export interface Expiring<T> {
  readonly value: T;
  /** Counted from when it was read. */
  readonly lifeMs: number;
}

export interface ExpiringCredential<T> {
  /**
   * A credential that has not ended. The held one serves while it is renewed, and while that fails, until its end;
   * then those who need one wait for one renewal. Throws what `read` throws.
   */
  get(): Promise<T>;
  /** The API refused the credential: the next `get` reads another one. */
  forget(): void;
}

interface Held<T> {
  readonly value: T;
  readonly readAt: number;
  /** Monotonic. From here on another one is read; until `expiresAt` this one serves meanwhile. */
  renewAt: number;
  readonly expiresAt: number;
}

const renewBeforeMs = 300_000;
const retryMs = 10_000;

/** A credential without an end. */
export function lasting<T>(value: T): ExpiringCredential<T> {
  return { get: async () => value, forget() {} };
}

/** @param read safe to repeat */
export function createExpiringCredential<T>(read: () => Promise<Expiring<T>>, clock: Clock): ExpiringCredential<T> {
  let held: Held<T> | undefined;
  let renewal: Promise<T> | undefined;

  async function readNext(): Promise<T> {
    const { value, lifeMs } = await read();
    const readAt = clock.monotonic();
    // A metadata service gives out one credential until it ends, so little of its life may be left.
    const renewAt = readAt + Math.max(lifeMs - renewBeforeMs, lifeMs / 2);
    held = { value, readAt, renewAt, expiresAt: readAt + lifeMs };
    return value;
  }
  function renew(): Promise<T> {
    renewal ??= readNext().finally(() => {
      renewal = undefined;
    });
    return renewal;
  }

  return {
    get() {
      const now = clock.monotonic();
      const current = held;
      if (current === undefined || now >= current.expiresAt) return renew();
      if (now >= current.renewAt)
        renew().catch(() => {
          current.renewAt = clock.monotonic() + retryMs;
        });
      return Promise.resolve(current.value);
    },
    forget() {
      // Calls that were sent together are refused together, and one that is new was refused for another reason.
      if (held !== undefined && clock.monotonic() - held.readAt > retryMs) held = undefined;
    },
  };
}
