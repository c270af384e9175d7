import { CloudError, type CloudErrorKind, cloudErrorKinds, isCloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { unlessAborted } from '../../../common/process/until.ts';
import { visibleLine } from '../../../common/visible-text.ts';

/**
 * The border to code that is no part of Mooring: whatever it throws becomes a CloudError, and each call ends within
 * `callLimitMs`.
 */
export interface CallGuard {
  /**
   * Runs an asynchronous call. A foreign error is `Unavailable` and no answer in time `Timeout`: after both, a mutation
   * may have happened.
   *
   * @param work gets a signal that aborts with the caller's, and when the time is over
   */
  call<T>(operation: string, signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Runs a pure function. A foreign error is `Invalid`. */
  pure<T>(operation: string, work: () => T): T;
  /** A function of ours that the foreign code calls: what it throws passes the guard as it is. */
  passing<A extends readonly unknown[], R>(ours: (...args: A) => R): (...args: A) => R;
  /** Any error as a CloudError. */
  asCloudError(operation: string, error: unknown, otherwise: CloudErrorKind): CloudError;
  /**
   * An answer that is not as the contract has it.
   *
   * @param kind of a mutation `Unavailable`, because it may have happened. Default `Invalid`
   */
  fault(operation: string, message: string, kind?: CloudErrorKind): CloudError;
}

/** Shorter than the time after which a loop without progress counts as stuck. */
export const callLimitMs = 60_000;
const shownLength = 300;
const kinds: ReadonlySet<unknown> = new Set(cloudErrorKinds);

export function createCallGuard(cloud: string, clock: Clock): CallGuard {
  /** Errors of ours that passed through the foreign code. */
  const passed = new WeakSet<object>();
  const fault = (operation: string, message: string, kind: CloudErrorKind = 'Invalid') =>
    new CloudError({ kind, cloud, operation, message: visibleLine(message, shownLength) });

  function asCloudError(operation: string, error: unknown, otherwise: CloudErrorKind): CloudError {
    if (isCloudError(error)) return error;
    const fields = (typeof error === 'object' && error !== null ? error : {}) as Readonly<Record<string, unknown>>;
    const { kind: given, retryAfterMs: waitMs, subjects } = fields;
    const kind = kinds.has(given) ? (given as CloudErrorKind) : otherwise;
    const message = visibleLine(`the module threw ${textOf(error)}`, shownLength);
    return new CloudError({
      kind,
      cloud,
      operation,
      message,
      cause: error,
      retryAfterMs: typeof waitMs === 'number' && waitMs >= 0 && Number.isFinite(waitMs) ? waitMs : undefined,
      subjects: Array.isArray(subjects) ? subjects.filter((one) => typeof one === 'string') : undefined,
    });
  }
  const isOurs = (error: unknown) => typeof error === 'object' && error !== null && passed.has(error);

  return {
    asCloudError,
    fault,
    passing:
      (ours) =>
      (...args) => {
        try {
          return ours(...args);
        } catch (error) {
          if (typeof error === 'object' && error !== null) passed.add(error);
          throw error;
        }
      },
    pure(operation, work) {
      try {
        return work();
      } catch (error) {
        throw isOurs(error) ? error : asCloudError(operation, error, 'Invalid');
      }
    },
    async call(operation, signal, work) {
      const ending = new AbortController();
      let ended = { kind: 'Unavailable' as CloudErrorKind, message: 'interrupted' };
      const interrupt = () => ending.abort();
      const timer = clock.setTimer(callLimitMs, () => {
        ended = { kind: 'Timeout', message: `the module did not answer within ${callLimitMs / 1000} s` };
        ending.abort();
      });
      signal?.addEventListener('abort', interrupt, { once: true });
      if (signal?.aborted) interrupt();
      try {
        const working = (async () => work(ending.signal))();
        return await unlessAborted(working, ending.signal, () => new CloudError({ ...ended, cloud, operation }));
      } catch (error) {
        throw isOurs(error) ? error : asCloudError(operation, error, 'Unavailable');
      } finally {
        timer.cancel();
        signal?.removeEventListener('abort', interrupt);
      }
    },
  };
}

/** Of anything, even of an object without a text. */
function textOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  } catch {
    return 'something without a text';
  }
}
