import { table } from '../explain/table.ts';
import { type ClusterStatus, type Group, shownNames } from './cluster-status.ts';

/** The status for people. Pure. @param nowMs wall clock */
export function printStatus(status: ClusterStatus, nowMs: number): string {
  const { leader, leaderFault, pausedForAll, nodes, services, scopes } = status;
  const unknown = 'unknown: this credential may not read it';
  const leads = leader === null ? unknown : (leader.identity ?? 'none');
  const renewed = leader?.renewedAt ? `, renewed ${ageOf(leader.renewedAt, nowMs)} ago` : '';
  const lines = [
    ['LEADER', `${leads}${renewed}`],
    ...(leaderFault === null ? [] : [['', leaderFault]]),
    ['PAUSED', pausedForAll === null ? unknown : pausedForAll ? 'everything' : 'no'],
    ...Object.entries(scopes).map(([scope, count], at) => [at === 0 ? 'SCOPES' : '', `${scope}: ${count} nodes`]),
  ];
  return [table(lines), printGroups('NODES', nodes, nowMs), printGroups('SERVICES', services, nowMs)].join('\n');
}

function printGroups(title: string, groups: readonly Group[] | null, nowMs: number): string {
  if (groups === null) return `${title}  unknown: this credential may not list them\n`;
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return `${title}  0\n`;
  const rows = groups.map(({ state, reason, ok, count, names, why, since }) => {
    const more = count > shownNames ? ', ...' : '';
    const shown = ok ? '' : `${names.join(', ')}${more}${why === '' ? '' : `: ${why}`}`;
    return [`  ${state}`, reason || '-', String(count), since === null || ok ? '-' : ageOf(since, nowMs), shown];
  });
  return `${title}  ${total}\n${table([['  STATE', 'REASON', 'COUNT', 'SINCE', 'OLDEST'], ...rows])}`;
}

function ageOf(time: string, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return '?';
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}
