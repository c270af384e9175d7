import type { Surroundings } from './facts.ts';
import { type Facts, fact, secondsSince, since, unreadableFact } from './shown-fact.ts';

type Leading = Pick<Surroundings, 'leader' | 'hidden' | 'nowMs'>;

/** Of a Lease that does not say how long it lasts. */
const usualSeconds = 15;
/** Clocks differ. */
const leastSilentSeconds = 10;

/** Why no controller acts, or why that is unknown; undefined while a leader renews the Lease. Pure. */
export function leaderFault({ leader, hidden, nowMs }: Leading): { why: string; remedy: string } | undefined {
  const remedy = 'Check the pods of the controller and their logs.';
  if (hidden.includes('leader'))
    return { why: 'nothing was written to it, and this credential may not read the Lease of the leader', remedy };
  if (leader === undefined || leader.identity === '')
    return { why: 'no controller holds the Lease, so none acts', remedy };
  const age = secondsSince(leader.renewTime, nowMs);
  const silentSeconds = Math.max(leastSilentSeconds, 2 * (leader.durationSeconds ?? usualSeconds));
  if (age === undefined || age <= silentSeconds) return undefined;
  return { why: `the Lease of ${leader.identity} was last renewed ${age} s ago, so no controller acts`, remedy };
}

/** The leader, as facts for the output. Pure. */
export function leaderFacts({ leader, hidden, nowMs }: Leading): Facts {
  const renewed = 'leader renewed';
  if (hidden.includes('leader')) return { leader: unreadableFact('leader'), leaderRenewedAt: unreadableFact(renewed) };
  return {
    leader: fact('leader', leader?.identity, 'none'),
    leaderRenewedAt: since(renewed, leader?.renewTime, nowMs),
  };
}

/** The objects that may not be read, as facts for the output. Pure. */
export function hiddenFacts({ hidden }: Pick<Surroundings, 'hidden'>): Facts {
  return {
    ...(hidden.includes('pause') ? { pausedForAll: unreadableFact('paused for all') } : {}),
    ...(hidden.includes('events') ? { events: unreadableFact('events') } : {}),
  };
}
