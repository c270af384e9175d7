/**
 * One task of the leader: nodes, services, routes, pod ranges or volumes. Tasks never call each other; they interact
 * through the objects of Kubernetes and the cloud.
 */
export interface LeaderTask {
  /**
   * Runs until the signal aborts. Resolves when all work in progress has ended. Throws when it cannot start. May be
   * called again after that.
   */
  lead(signal: AbortSignal): Promise<void>;
  /**
   * Monotonic time of each loop's last progress, by name; empty while not leading. A failed attempt counts as progress.
   */
  progress(): ReadonlyMap<string, number>;
}

/** Runs all tasks as one. When one fails, the others are ended before the failure is thrown. */
export function runAll(tasks: readonly LeaderTask[]): LeaderTask {
  return {
    async lead(signal) {
      const ending = new AbortController();
      const end = () => ending.abort();
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
      try {
        const terms = tasks.map((task) =>
          task.lead(ending.signal).catch((error: unknown) => {
            end();
            throw error;
          }),
        );
        const failed = (await Promise.allSettled(terms)).find((term) => term.status === 'rejected');
        if (failed) throw failed.reason;
      } finally {
        signal.removeEventListener('abort', end);
      }
    },
    progress: () => new Map(tasks.flatMap((task) => [...task.progress()])),
  };
}
