import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { createWorkQueue, type WorkQueue, type WorkQueueOptions } from '../work-queue.ts';

/** A work queue on a fake clock, not started yet. */
export interface WorkQueueHarness {
  readonly clock: FakeClock;
  readonly queue: WorkQueue;
  /** Keys in the order in which they were begun. */
  readonly begun: string[];
}

export function workQueueHarness(
  reconcile: (
    key: string,
    clock: FakeClock,
    signal: AbortSignal,
  ) => ReturnType<WorkQueueOptions['reconcile']> = async () => {},
  options: Partial<WorkQueueOptions> = {},
): WorkQueueHarness {
  const clock = fakeClock();
  const begun: string[] = [];
  const queue = createWorkQueue({
    name: 'nodes',
    clock,
    random: seededRandom(1),
    log: silentLog,
    concurrency: 1,
    reconcile(key, signal) {
      begun.push(key);
      return reconcile(key, clock, signal);
    },
    ...options,
  });
  return { clock, queue, begun };
}
