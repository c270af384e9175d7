/** A gauge of the waiting Nodes by reason. */
export interface ReasonGauge {
  set(labels: { readonly reason: string }, value: number): void;
}

export interface WaitingNode<R extends string> {
  readonly reason: R;
  readonly message: string;
  /** Consecutive tries that ended with this reason or another. */
  readonly tries: number;
}

/** Which Nodes wait, and why. Keeps the gauge up to date. */
export interface WaitingNodes<R extends string> {
  get(nodeName: string): WaitingNode<R> | undefined;
  /** Returns the number of consecutive unsuccessful tries. */
  wait(nodeName: string, reason: R, message: string): number;
  done(nodeName: string): void;
}

export function createWaitingNodes<R extends string>(gauge: ReasonGauge): WaitingNodes<R> {
  const waiting = new Map<string, WaitingNode<R>>();
  const counts = new Map<R, number>();

  function count(reason: R, by: number): void {
    const next = (counts.get(reason) ?? 0) + by;
    counts.set(reason, next);
    gauge.set({ reason }, next);
  }

  return {
    get: (nodeName) => waiting.get(nodeName),
    wait(nodeName, reason, message) {
      const before = waiting.get(nodeName);
      if (before?.reason !== reason) {
        if (before) count(before.reason, -1);
        count(reason, 1);
      }
      const tries = (before?.tries ?? 0) + 1;
      waiting.set(nodeName, { reason, message, tries });
      return tries;
    },
    done(nodeName) {
      const before = waiting.get(nodeName);
      if (!before) return;
      waiting.delete(nodeName);
      count(before.reason, -1);
    },
  };
}
