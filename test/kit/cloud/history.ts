interface Change<R> {
  readonly at: number;
  readonly id: string;
  readonly before: R | undefined;
}

/** The way back: enough of the past to say what a list looked like some seconds ago. */
export interface History<R> {
  /** @param at monotonic milliseconds; calls come in the order of time */
  record(at: number, id: string, before: R | undefined): void;
  /** The records as they were right after moment `at`. Moments older than the history give its oldest state. */
  asOf(at: number, current: Iterable<R>): R[];
}

/** @param keepMs how far back `asOf` can look */
export function history<R extends { readonly id: string; readonly serial: number }>(keepMs: number): History<R> {
  let changes: Change<R>[] = [];
  let start = 0;

  function trim(now: number): void {
    while (start < changes.length && changes[start]!.at < now - keepMs) start += 1;
    if (start > 1000 && start * 2 > changes.length) {
      changes = changes.slice(start);
      start = 0;
    }
  }

  return {
    record(at, id, before) {
      changes.push({ at, id, before });
      trim(at);
    },
    asOf(at, current) {
      const view = new Map<string, R>();
      for (const one of current) view.set(one.id, one);
      for (let index = changes.length - 1; index >= start; index -= 1) {
        const change = changes[index]!;
        if (change.at <= at) break;
        if (change.before) view.set(change.id, change.before);
        else view.delete(change.id);
      }
      return [...view.values()].sort((a, b) => a.serial - b.serial);
    },
  };
}
