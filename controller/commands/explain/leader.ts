import type { Surroundings } from './facts.ts';

type Leading = Pick<Surroundings, 'leader' | 'hidden' | 'nowMs'>;

/** A Lease that was not renewed for this long has no leader. */
const silentSeconds = 60;

/** Why no controller acts, or why that is unknown; undefined while a leader renews the Lease. Pure. */
export function leaderFault({ leader, hidden, nowMs }: Leading): { why: string; remedy: string } | undefined {
  const remedy = 'Check the pods of the controller and their logs.';
  if (hidden.includes('leader'))
    return { why: 'nothing was written to it, and this credential may not read the Lease of the leader', remedy };
  if (leader === undefined || leader.identity === '')
    return { why: 'no controller holds the Lease, so none acts', remedy };
  const age = secondsAgo(leader.renewTime, nowMs);
  if (age === undefined || age <= silentSeconds) return undefined;
  return { why: `the Lease of ${leader.identity} was last renewed ${age} s ago, so no controller acts`, remedy };
}

/** The leader, as facts for the output. Pure. */
export function leaderFacts({ leader, hidden, nowMs }: Leading): Record<string, string> {
  if (hidden.includes('leader')) return { leader: unreadable, 'leader renewed': unreadable };
  return { leader: leader?.identity || 'none', 'leader renewed': leader ? ago(leader.renewTime, nowMs) : 'never' };
}

/** The objects that may not be read, as facts for the output. Pure. */
export function hiddenFacts({ hidden }: Pick<Surroundings, 'hidden'>): Record<string, string> {
  return {
    ...(hidden.includes('pause') ? { 'paused for all': unreadable } : {}),
    ...(hidden.includes('events') ? { events: unreadable } : {}),
  };
}

/** Replaces a fact that this credential may not read. */
export const unreadable = 'may not be read';

export function ago(time: string, nowMs: number): string {
  const age = secondsAgo(time, nowMs);
  return age === undefined ? 'never' : `${age} s ago`;
}

function secondsAgo(time: string, nowMs: number): number | undefined {
  const at = Date.parse(time);
  return Number.isNaN(at) ? undefined : Math.max(0, Math.round((nowMs - at) / 1000));
}
