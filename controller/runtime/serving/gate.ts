/** Lets at most `width` tasks run at once; up to `queue` more wait in order, the rest are turned away. */
export interface Gate {
  /** Runs the task when there is room; throws what `refuse` makes when too many wait already. */
  run<T>(task: () => Promise<T>, refuse: () => Error): Promise<T>;
}

export function createGate(width: number, queue: number): Gate {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async run(task, refuse) {
      if (running >= width) {
        if (waiting.length >= queue) throw refuse();
        // The place is handed over by whoever leaves, so `running` does not change here.
        await new Promise<void>((resolve) => waiting.push(resolve));
      } else {
        running += 1;
      }
      try {
        return await task();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else running -= 1;
      }
    },
  };
}
