import { parseDuration } from '../../common/process/duration.ts';

/** How many unexpected deletions of one kind may happen within a moving window. */
export interface Budget {
  /** A share of the owned nodes (0..1), or a fixed count. */
  readonly limit: { readonly share: number } | { readonly count: number };
  readonly windowMs: number;
}

/**
 * The kinds with separate counts: deletions of Nodes after an unexpected absence, those after an announced one, those
 * of Nodes that were never initialised, out-of-service taints, routes of deleted Nodes, load balancer members of
 * deleted Nodes, load balancers of deleted Services, tags of the instances of deleted Nodes.
 */
export type BudgetKind =
  | 'deletion'
  | 'announced'
  | 'joining'
  | 'out-of-service'
  | 'route'
  | 'member'
  | 'orphan'
  | 'tag';

const letters: Readonly<Record<BudgetKind, string>> = {
  deletion: 'd',
  announced: 'a',
  joining: 'j',
  'out-of-service': 'o',
  route: 'r',
  member: 'm',
  orphan: 'l',
  tag: 't',
};
const form = /^(\d+(?:\.\d+)?)(%?)\/(.+)$/;

/** Parses `10%/10m` or `5/1h`. Returns what was expected when the text does not parse. */
export function parseBudget(text: string): Budget | { readonly expected: string } {
  const expected = 'a share or count per duration, such as 10%/10m or 5/1h';
  const match = form.exec(text);
  if (!match) return { expected };
  const [, amount = '', percent, window = ''] = match;
  const windowMs = parseDuration(window);
  if (windowMs === undefined || windowMs <= 0) return { expected };
  const value = Number(amount);
  if (percent === '%') return value <= 100 ? { limit: { share: value / 100 }, windowMs } : { expected };
  return Number.isInteger(value) ? { limit: { count: value }, windowMs } : { expected };
}

interface Entry {
  readonly letter: string;
  readonly atSeconds: number;
  readonly count: number;
}

/**
 * The spendings of all kinds with their times. Stored in an annotation of the Lease, so that a restart refills no
 * budget.
 */
export type Ledger = readonly Entry[];

/** Reads `d1700000000x3,o1700000100x1`. Parts that do not parse are dropped. */
export function parseLedger(text: string | undefined): Ledger {
  return (text ?? '').split(',').flatMap((part) => {
    const match = /^([dajormlt])(\d+)x(\d+)$/.exec(part);
    return match ? [{ letter: match[1] as string, atSeconds: Number(match[2]), count: Number(match[3]) }] : [];
  });
}

export function printLedger(ledger: Ledger): string {
  return ledger.map(({ letter, atSeconds, count }) => `${letter}${atSeconds}x${count}`).join(',');
}

/**
 * Entries later than now by more than `aheadMs` count as made now: otherwise those of a leader whose clock was ahead
 * would not expire before that time.
 */
export function notLater(ledger: Ledger, nowMs: number, aheadMs = 0): Ledger {
  return ledger.map((entry) =>
    entry.atSeconds * 1000 - nowMs > aheadMs ? { ...entry, atSeconds: Math.ceil(nowMs / 1000) } : entry,
  );
}

/** The entries inside the window. A time in the future (after a jump of the clock) counts as now. */
function current(ledger: Ledger, windowMs: number, nowMs: number): Entry[] {
  return ledger.filter(({ atSeconds }) => nowMs - atSeconds * 1000 < windowMs);
}

/** How many more of this kind are allowed now; at least one per window, however small the share. */
export function room(budget: Budget, kind: BudgetKind, ownedNodes: number, ledger: Ledger, nowMs: number): number {
  const limit = 'count' in budget.limit ? budget.limit.count : Math.floor(budget.limit.share * ownedNodes);
  const spent = current(ledger, budget.windowMs, nowMs)
    .filter(({ letter }) => letter === letters[kind])
    .reduce((sum, { count }) => sum + count, 0);
  return Math.max(0, Math.max(1, limit) - spent);
}

/** Milliseconds until the oldest entry of this kind expires; 0 when there is none. */
export function expiresInMs(budget: Budget, kind: BudgetKind, ledger: Ledger, nowMs: number): number {
  const own = current(ledger, budget.windowMs, nowMs).filter(({ letter }) => letter === letters[kind]);
  if (own.length === 0) return 0;
  return Math.min(...own.map(({ atSeconds }) => atSeconds * 1000)) + budget.windowMs - nowMs;
}

/**
 * The ledger after spending. Expired entries of this kind are dropped; those of other kinds, whose windows may be
 * longer, stay.
 */
export function spend(budget: Budget, kind: BudgetKind, count: number, ledger: Ledger, nowMs: number): Ledger {
  const others = ledger.filter(({ letter }) => letter !== letters[kind]);
  const own = ledger.filter(({ letter }) => letter === letters[kind]);
  return [
    ...others,
    ...current(own, budget.windowMs, nowMs),
    // Rounded up, so that no entry expires early.
    { letter: letters[kind], atSeconds: Math.ceil(nowMs / 1000), count },
  ];
}

/** What each kind has spent within a window, by its name; kinds that spent nothing are left out. Pure. */
export function spentWithin(windowMs: number, ledger: Ledger, nowMs: number): Partial<Record<BudgetKind, number>> {
  const spent: Partial<Record<BudgetKind, number>> = {};
  for (const [kind, letter] of Object.entries(letters) as [BudgetKind, string][])
    for (const entry of current(ledger, windowMs, nowMs))
      if (entry.letter === letter) spent[kind] = (spent[kind] ?? 0) + entry.count;
  return spent;
}
