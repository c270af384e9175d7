import type { Clock, Timer } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { BudgetKeeper } from '../../model/budget-keeper.ts';

/** Asks the budget, again and again, to let members go whose Nodes vanished. */
export interface MemberRemovals {
  /** Somebody may have begun to wait. */
  wake(): void;
  stop(): void;
}

export interface MemberRemovalOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly budget: BudgetKeeper;
  paused(): boolean;
  /** How long somebody must have waited. */
  readonly confirmMs: number;
  /** Since when those wait that may not go yet, monotonic. */
  waiting(): readonly number[];
  /** Looks live whether their Nodes are gone indeed; the others wait no more. Throws when that cannot be known. */
  reconsider(): Promise<void>;
  /** Members of all kinds that there are. */
  size(): number;
  /** Lets so many go, those first that have waited longest of those that have waited long enough; the rest of these was refused. */
  letGo(granted: number): void;
}

/** How often the budget is asked while somebody waits. */
const askAgainMs = 30_000;

export function createMemberRemovals(options: MemberRemovalOptions): MemberRemovals {
  const { clock, log, budget, confirmMs } = options;
  let timer: { readonly atMs: number; readonly timer: Timer } | undefined;
  let asking = false;
  let stopped = false;

  function wake(atLeastMs = 0): void {
    if (stopped || asking) return;
    const waiting = options.waiting();
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
  function ripe(): number {
    const now = clock.monotonic();
    return options.waiting().filter((sinceMs) => now - sinceMs >= confirmMs).length;
  }

  async function ask(): Promise<void> {
    asking = true;
    try {
      if (ripe() === 0 || options.paused()) return;
      await options.reconsider();
      const wanted = ripe();
      if (wanted === 0 || stopped) return;
      const granted = await budget.take('member', wanted, options.size());
      if (stopped) return;
      if (granted < wanted) log.warn('member removals withheld', { withheld: wanted - granted });
      options.letGo(granted);
    } catch (error) {
      log.warn('Nodes not read again or budget not written, so no member is let go', errorFields(error));
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
