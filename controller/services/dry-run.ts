import type { Log } from '../../common/process/log.ts';
import { planService } from './service-plan.ts';
import type { Situation } from './situation.ts';

/** Logs what a run would do, unless it is the plan that was logged last. Returns the plan as text. */
export function logPlan(log: Log, situation: Situation, before: string | undefined): string {
  const { service } = situation;
  const { steps, writes } = planService(situation);
  const text = JSON.stringify([steps.map(({ summary }) => summary), writes]);
  if (text === before) return text;
  for (const { action, resource, target, summary } of steps)
    log.info('would change', { service: service.key, action, resource, target, what: summary });
  for (const what of writes) log.info('would write', { service: service.key, what });
  return text;
}
