import type { Outcome } from './answers.ts';
import type { Case } from './cases.ts';

export interface KeptReport {
  readonly node: string;
  readonly uid: string;
  readonly report: string;
}

/** What should have reached the store, case by case, against what did. */
export interface Ledger {
  /** Takes note of how a case ended, also for what the next ones of its node are to expect. */
  note(one: Case, outcome: Outcome): void;
  /**
   * Compares and starts over, except for reports that may still be kept. A kept report must be its own sender's,
   * unchanged.
   */
  settle(kept: readonly KeptReport[]): { readonly one: Case | undefined; readonly what: string }[];
}

interface Expectation extends KeptReport {
  readonly one: Case;
  /** False where the answer never came: then it may have been kept or not. */
  readonly certain: boolean;
}

export function createLedger(): Ledger {
  let expected: Expectation[] = [];
  /**
   * Of the last settlement: a sender may be gone while his token is still reviewed, so his report is kept after the
   * count.
   */
  let late: readonly Expectation[] = [];

  return {
    note(one, outcome) {
      const { sender, report } = one;
      if (sender === undefined || report === undefined) return;
      // A sender of more than a report may get an answer to the rest alone.
      const possible = one.outcomes.has('kept') && (outcome === 'silence' || one.kind === 'wild');
      if (outcome !== 'kept' && !possible) return;
      const { agentId, sequence } = report as { readonly agentId: string; readonly sequence: number };
      const { last } = sender;
      // Accepted, but not kept a second time.
      if (typeof last === 'object' && last.agentId === agentId && last.sequence === sequence) return;
      expected.push({
        one,
        node: sender.name,
        uid: sender.uid,
        report: JSON.stringify(report),
        certain: outcome === 'kept',
      });
      sender.last = outcome === 'kept' ? { agentId, sequence } : 'unsure';
    },
    settle(kept) {
      const wrong: { one: Case | undefined; what: string }[] = [];
      const open = new Map<string, Expectation[]>();
      for (const each of [...late, ...expected]) {
        const list = open.get(keyOf(each)) ?? [];
        list.push(each);
        open.set(keyOf(each), list);
      }
      const fresh = new Set(expected);
      expected = [];
      for (const found of kept) {
        if (open.get(keyOf(found))?.shift()) continue;
        wrong.push({ one: undefined, what: `kept for ${found.node} (${found.uid}): ${found.report.slice(0, 300)}` });
      }
      const left = [...open.values()].flat();
      for (const { one, certain, node } of left) {
        if (certain) wrong.push({ one, what: `accepted and not kept for ${node}` });
      }
      late = left.filter((each) => !each.certain && fresh.has(each));
      return wrong;
    },
  };
}

/** Reports of different cases differ in their agentId. */
function keyOf({ node, uid, report }: KeptReport): string {
  return `${node} ${uid} ${report}`;
}
