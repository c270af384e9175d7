import type { Surroundings } from './facts.ts';

type Leading = Pick<Surroundings, 'leader' | 'hidden' | 'nowMs'>;

/** A Lease that nobody renewed for this long is nobody's. */
const silentSeconds = 60;

/** Why nobody can be expected to act, or why that cannot be told; undefined when a leader is at work. Pure. */
export function leaderFault({ leader, hidden, nowMs }: Leading): { why: string; remedy: string } | undefined {
  const remedy = 'Look at the pods of the controller and their logs.';
  if (hidden.includes('leader'))
    return { why: 'nothing was written to it, and who leads may not be read with this credential', remedy };
  if (leader === undefined || leader.identity === '')
    return { why: 'no controller holds the Lease, so nobody acts', remedy };
  const age = secondsAgo(leader.renewTime, nowMs);
  if (age === undefined || age <= silentSeconds) return undefined;
  return { why: `the Lease of ${leader.identity} was last renewed ${age} s ago, so nobody acts`, remedy };
}

/** Who leads, as facts to show. Pure. */
export function leaderFacts({ leader, hidden, nowMs }: Leading): Record<string, string> {
  if (hidden.includes('leader')) return { leader: unreadable, 'leader renewed': unreadable };
  return { leader: leader?.identity || 'none', 'leader renewed': leader ? ago(leader.renewTime, nowMs) : 'never' };
}

/** What else may not be read, as facts to show. Pure. */
export function hiddenFacts({ hidden }: Pick<Surroundings, 'hidden'>): Record<string, string> {
  return {
    ...(hidden.includes('pause') ? { 'paused for all': unreadable } : {}),
    ...(hidden.includes('events') ? { events: unreadable } : {}),
  };
}

/** Instead of a fact that the API server keeps from this credential. */
export const unreadable = 'may not be read';

export function ago(time: string, nowMs: number): string {
  const age = secondsAgo(time, nowMs);
  return age === undefined ? 'never' : `${age} s ago`;
}

function secondsAgo(time: string, nowMs: number): number | undefined {
  const at = Date.parse(time);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.round((nowMs - at) / 1000));
}
