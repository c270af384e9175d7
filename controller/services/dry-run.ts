import type { Log } from '../../common/process/log.ts';
import type { Situation } from './next-action.ts';
import { planService } from './plan-service.ts';

/** Says in a dry run what a run would do, once for each plan. */
export interface DryRun {
  tell(situation: Situation): void;
  forget(uid: string): void;
}

export function createDryRun(log: Log): DryRun {
  /** By Service: what was logged last. */
  const told = new Map<string, string>();
  return {
    tell(situation) {
      const { service } = situation;
      const { steps, writes } = planService(situation);
      const text = JSON.stringify([steps.map(({ summary }) => summary), writes]);
      if (told.get(service.uid) === text) return;
      told.set(service.uid, text);
      for (const { action, resource, target, summary } of steps)
        log.info('would change', { service: service.key, action, resource, target, what: summary });
      for (const what of writes) log.info('would write', { service: service.key, what });
    },
    forget: (uid) => told.delete(uid),
  };
}
