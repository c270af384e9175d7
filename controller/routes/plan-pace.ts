/**
 * Planning considers every Node, and every change of a Node asks for a plan: with 15,000 Nodes a plan takes some
 * 300 ms. After each, the next one waits for ten times as long as it took.
 */
export interface PlanPace {
  run<T>(plan: () => T): T;
  /** How long the next plan has to wait, at least `askedMs`. */
  afterMs(askedMs: number): number;
}

const restPerPlan = 10;

/** @param now monotonic milliseconds */
export function createPlanPace(now: () => number): PlanPace {
  let restUntilMs = Number.NEGATIVE_INFINITY;
  return {
    run(plan) {
      const startedMs = now();
      const made = plan();
      restUntilMs = now() + restPerPlan * (now() - startedMs);
      return made;
    },
    afterMs: (askedMs) => Math.max(askedMs, restUntilMs - now()),
  };
}
