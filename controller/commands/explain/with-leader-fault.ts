import type { ServiceExplanation } from './explain-service.ts';
import type { Explanation } from './explanation.ts';
import type { Surroundings } from './facts.ts';
import { leaderFault } from './leader.ts';

type Leading = Pick<Surroundings, 'leader' | 'hidden' | 'nowMs'>;

/** States that do not wait for the controller: a Node that is being deleted waits for others. */
const settledNodes: ReadonlySet<string> = new Set(['initialized', 'foreign', 'paused', 'deleting']);
const settledServices: ReadonlySet<string> = new Set(['ensured', 'foreign', 'paused', 'none']);

/** An explanation that says first why no controller acts, where one should. Pure. */
export function withLeaderFault<T extends Explanation | ServiceExplanation>(told: T, around: Leading): T {
  const settled = 'node' in told ? settledNodes : settledServices;
  const fault = settled.has(told.state) || around.hidden.includes('leader') ? undefined : leaderFault(around);
  if (fault === undefined || told.why === fault.why) return told;
  const remedy = told.remedy === fault.remedy ? fault.remedy : `${fault.remedy} ${told.remedy}`.trimEnd();
  return { ...told, why: `${fault.why}; last known: ${told.why}`, remedy };
}
