import type { Clock } from '../../common/process/clock.ts';
import { annotations } from '../../common/well-known.ts';
import type { Leadership } from '../kube/leadership.ts';
import {
  type Budget,
  type BudgetKind,
  expiresInMs,
  notLater,
  parseLedger,
  printLedger,
  room,
  spend,
} from './deletion-budget.ts';

/** Spends the budgets of deletions. A spending is recorded in the Lease before the deletion. */
export interface BudgetKeeper {
  /**
   * Spends up to `requested` of this kind, of which there are `ownedNodes` (Nodes, members, routes, ...). Resolves with
   * how many were granted. Throws a KubeError when the ledger could not be written: then none were granted.
   */
  take(kind: BudgetKind, requested: number, ownedNodes: number): Promise<number>;
}

export interface TimedBudgetKeeper extends BudgetKeeper {
  /** Milliseconds until an exhausted budget may have room again; 0 when nothing of this kind is spent. */
  roomInMs(kind: BudgetKind): number;
}

/**
 * Exactly one per process: two would overwrite each other's ledger.
 *
 * @param budget of every kind that is not in `own`
 * @param own budgets of some kinds
 */
export function createBudgetKeeper(
  budget: Budget,
  leadership: Leadership,
  clock: Clock,
  own: Readonly<Partial<Record<BudgetKind, Budget>>> = {},
): TimedBudgetKeeper {
  const longestMs = Math.max(...[budget, ...Object.values(own)].map(({ windowMs }) => windowMs));
  let queue: Promise<unknown> = Promise.resolve();

  const readLedger = () => parseLedger(leadership.annotations()[annotations.deletionLedger]);

  async function spendUpTo(kind: BudgetKind, requested: number, ownedNodes: number): Promise<number> {
    const now = clock.now();
    const noted = readLedger();
    // Smaller differences stay: if it is our clock that is behind, the entries would expire early for the next leader.
    const ledger = notLater(noted, now, longestMs);
    const limit = own[kind] ?? budget;
    const granted = Math.min(requested, room(limit, kind, ownedNodes, ledger, now));
    const next = printLedger(granted === 0 ? ledger : spend(limit, kind, granted, ledger, now));
    if (next !== printLedger(noted)) await leadership.annotate({ [annotations.deletionLedger]: next });
    return granted;
  }

  return {
    // One at a time: the ledger is read, then written, and two scopes must not spend the same budget.
    take(kind, requested, ownedNodes) {
      const granted = queue.then(() => spendUpTo(kind, requested, ownedNodes));
      queue = granted.catch(() => {});
      return granted;
    },
    roomInMs(kind) {
      const now = clock.now();
      return expiresInMs(own[kind] ?? budget, kind, notLater(readLedger(), now), now);
    },
  };
}
