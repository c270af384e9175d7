import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { createReconciler, type Reconciler, type ReconcilerOptions } from '../reconciler.ts';

/** A reconciler on a fake clock, not started yet. */
export interface ReconcilerHarness {
  readonly clock: FakeClock;
  readonly reconciler: Reconciler;
  /** Keys in the order in which they were begun. */
  readonly begun: string[];
}

export function reconcilerHarness(
  reconcile: (
    key: string,
    clock: FakeClock,
    signal: AbortSignal,
  ) => ReturnType<ReconcilerOptions['reconcile']> = async () => {},
  options: Partial<ReconcilerOptions> = {},
): ReconcilerHarness {
  const clock = fakeClock();
  const begun: string[] = [];
  const reconciler = createReconciler({
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
  return { clock, reconciler, begun };
}
