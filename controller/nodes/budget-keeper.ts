import type { Clock } from '../../common/process/clock.ts';
import { annotations } from '../../common/well-known.ts';
import type { Leadership } from '../kube/leadership.ts';
import { type Budget, type BudgetKind, parseLedger, printLedger, room, spend } from './deletion-budget.ts';

/** Spends the budget of destructive effects; what is spent stands in the Lease before the effect happens. */
export interface BudgetKeeper {
  /** Spends up to `wanted` of this kind; resolves with how many were granted. Throws a KubeError when the ledger could not be written: then nothing was granted. */
  take(kind: BudgetKind, wanted: number, ownedNodes: number): Promise<number>;
}

export function createBudgetKeeper(budget: Budget, leadership: Leadership, clock: Clock): BudgetKeeper {
  let queue: Promise<unknown> = Promise.resolve();

  async function spendUpTo(kind: BudgetKind, wanted: number, ownedNodes: number): Promise<number> {
    const now = clock.now();
    const ledger = parseLedger(leadership.annotations()[annotations.deletionLedger]);
    const granted = Math.min(wanted, room(budget, kind, ownedNodes, ledger, now));
    if (granted === 0) return 0;
    const next = spend(budget, kind, granted, ledger, now);
    await leadership.annotate({ [annotations.deletionLedger]: printLedger(next) });
    return granted;
  }

  return {
    // One after the other: the ledger is read, then written, and two scopes must not spend the same room.
    take(kind, wanted, ownedNodes) {
      const granted = queue.then(() => spendUpTo(kind, wanted, ownedNodes));
      queue = granted.catch(() => {});
      return granted;
    },
  };
}
