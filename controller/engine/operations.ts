import { CloudError, isCloudError } from '../../common/cloud-error.ts';
import { type Clock, sleep } from '../../common/process/clock.ts';
import type { OperationState, ReadIo } from './resource.ts';

export interface OperationsParts {
  readonly clock: Clock;
  poll(operations: readonly string[], io: ReadIo): Promise<ReadonlyMap<string, OperationState>>;
  readonly signal?: AbortSignal | undefined;
}

/** Waits for the end of operations: one poll asks for all of them. */
export interface Operations {
  /** Resolves when it has ended; rejects with its error, or when polling fails. */
  end(operation: string): Promise<void>;
}

const firstMs = 250;
const maxMs = 5000;
const maxFailures = 4;
const longestMs = 900_000;

export function createOperations({ clock, poll, signal }: OperationsParts): Operations {
  interface Waiting {
    readonly promise: Promise<void>;
    readonly untilMs: number;
    resolve(): void;
    reject(error: unknown): void;
  }
  const waiting = new Map<string, Waiting>();
  let isRunning = false;
  let delayMs = firstMs;

  function close(id: string, state: OperationState | { readonly error: unknown }): void {
    const one = waiting.get(id);
    waiting.delete(id);
    if (state === 'done') one?.resolve();
    else one?.reject(typeof state === 'object' && 'error' in state ? state.error : state);
  }

  async function ask(): Promise<void> {
    const states = await poll([...waiting.keys()], { signal });
    for (const [id, { untilMs }] of [...waiting]) {
      const state = states.get(id) ?? 'done';
      if (state !== 'running') close(id, state);
      else if (clock.monotonic() >= untilMs) close(id, timeout(id));
    }
  }

  async function run(): Promise<void> {
    isRunning = true;
    let failures = 0;
    while (waiting.size > 0) {
      try {
        await sleep(clock, delayMs, signal);
        delayMs = Math.min(delayMs * 1.5, maxMs);
        await ask();
        failures = 0;
      } catch (error) {
        failures += 1;
        if (failures < maxFailures && isCloudError(error) && !signal?.aborted) continue;
        for (const id of [...waiting.keys()]) close(id, { error });
      }
    }
    isRunning = false;
  }

  return {
    end(operation) {
      const known = waiting.get(operation);
      if (known !== undefined) return known.promise;
      delayMs = firstMs;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting.set(operation, { promise, resolve, reject, untilMs: clock.monotonic() + longestMs });
      // A rejection after every caller has given up must not end the process.
      promise.catch(() => undefined);
      if (!isRunning) void run();
      return promise;
    },
  };
}

function timeout(id: string): CloudError {
  const message = `operation ${id} has not ended after ${longestMs / 60_000} minutes`;
  return new CloudError({ kind: 'Timeout', cloud: '', operation: 'poll', message });
}
