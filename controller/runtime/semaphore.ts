/** Limits how many tasks run at once; the others wait in order. */
export interface Semaphore {
  /** Rejects with the error of the limit, without running the task, when too many wait already. */
  run<T>(task: () => Promise<T>): Promise<T>;
}

export interface WaitingLimit {
  /** How many may wait. */
  readonly waiting: number;
  refuse(): Error;
}

export function createSemaphore(limit: number, { waiting: most, refuse }: Partial<WaitingLimit> = {}): Semaphore {
  let free = limit;
  const waiting: (() => void)[] = [];
  let head = 0;

  function release(): void {
    const next = waiting[head];
    if (next === undefined) {
      free += 1;
      return;
    }
    head += 1;
    if (head === waiting.length) {
      waiting.length = 0;
      head = 0;
    }
    next();
  }

  return {
    async run(task) {
      if (free > 0) free -= 1;
      else if (refuse && waiting.length - head >= (most ?? 0)) throw refuse();
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await task();
      } finally {
        release();
      }
    },
  };
}
