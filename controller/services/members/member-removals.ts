import type { Clock, Timer } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { BudgetKeeper } from '../../model/budget-keeper.ts';

/** Asks the budget, periodically, for removals of members whose Nodes vanished unexplained. */
export interface MemberRemovals {
  /** Another member may have begun to wait. */
  wake(): void;
  stop(): void;
}

export interface MemberRemovalOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly budget: BudgetKeeper;
  paused(): boolean;
  /** How long a member must have waited. */
  readonly confirmMs: number;
  /** For each waiting member, monotonic milliseconds. */
  waitingSinceMs(): readonly number[];
  /** Reads the Nodes live; members whose Nodes exist restart their wait. Throws when the Nodes cannot be read. */
  confirmGone(): Promise<void>;
  /** The number of all members. */
  size(): number;
  /**
   * Releases `granted` members that have waited long enough, the longest waiting first; the others were refused.
   */
  release(granted: number): void;
}

/** How often the budget is asked while members wait. */
const askAgainMs = 30_000;

export function createMemberRemovals(options: MemberRemovalOptions): MemberRemovals {
  const { clock, log, budget, confirmMs } = options;
  let timer: { readonly atMs: number; readonly timer: Timer } | undefined;
  let asking = false;
  let stopped = false;

  function wake(atLeastMs = 0): void {
    if (stopped || asking) return;
    const waiting = options.waitingSinceMs();
    if (waiting.length === 0) return;
    const now = clock.monotonic();
    const first = waiting.reduce((earliest, sinceMs) => Math.min(earliest, sinceMs));
    const atMs = Math.max(now + atLeastMs, first + confirmMs);
    if (timer !== undefined && timer.atMs <= Math.max(atMs, now + askAgainMs)) return;
    timer?.timer.cancel();
    const run = () => {
      timer = undefined;
      void ask();
    };
    timer = { atMs, timer: clock.setTimer(atMs - now, run) };
  }

  /** How many have waited long enough. */
  function countDue(): number {
    const now = clock.monotonic();
    return options.waitingSinceMs().filter((sinceMs) => now - sinceMs >= confirmMs).length;
  }

  async function ask(): Promise<void> {
    asking = true;
    try {
      if (countDue() === 0 || options.paused()) return;
      await options.confirmGone();
      const due = countDue();
      if (due === 0 || stopped) return;
      const granted = await budget.take('member', due, options.size());
      if (stopped) return;
      if (granted < due) log.warn('member removals withheld', { withheld: due - granted });
      options.release(granted);
    } catch (error) {
      log.warn('Nodes not read or budget not written, so no member is released', errorFields(error));
    } finally {
      asking = false;
      wake(askAgainMs);
    }
  }

  return {
    wake: () => wake(),
    stop() {
      stopped = true;
      timer?.timer.cancel();
    },
  };
}
