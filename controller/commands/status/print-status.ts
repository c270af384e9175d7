import { table } from '../explain/table.ts';
import { type ClusterStatus, type Group, shownNames } from './cluster-status.ts';

/** The status for people. Pure. @param nowMs wall clock */
export function printStatus(status: ClusterStatus, nowMs: number): string {
  const { leader, leaderFault, pausedForAll, nodes, services, scopes, cloudOfScope, removals } = status;
  const unknown = 'unknown: this credential may not read it';
  const leads = leader === null ? unknown : (leader.identity ?? 'none');
  const renewed = leader?.renewedAt ? `, renewed ${ageOf(leader.renewedAt, nowMs)} ago` : '';
  const lines = [
    ['LEADER', `${leads}${renewed}`],
    ...(leaderFault === null ? [] : [['', leaderFault]]),
    ['PAUSED', pausedForAll === null ? unknown : pausedForAll ? 'everything' : 'no'],
    ...printProtected(status),
    ...Object.entries(scopes).map(([scope, count], at) => {
      const cloud = cloudOfScope[scope];
      return [at === 0 ? 'SCOPES' : '', `${cloud === undefined ? '' : `${cloud}: `}${scope}, ${count} nodes`];
    }),
    ['REMOVALS', removals === null ? unknown : printCounts(removals, 'none in the last hour', ' in the last hour')],
    ...printMetrics(status),
  ];
  return [table(lines), printGroups('NODES', nodes, nowMs), printGroups('SERVICES', services, nowMs)].join('\n');
}

function printProtected({ protectedNodes }: ClusterStatus): string[][] {
  const { names = [], absent = [] } = protectedNodes ?? {};
  const missing = absent.length === 0 ? [] : [`${absent.join(', ')}: no such Node`];
  const texts = [...(names.length === 0 ? [] : [names.join(', ')]), ...missing];
  return texts.length === 0 ? [] : [['PROTECTED', texts.join('; ')]];
}

function printCounts(counts: Readonly<Record<string, number>>, none: string, after = ''): string {
  const texts = Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${name} ${count}`]));
  return texts.length === 0 ? none : `${texts.join(', ')}${after}`;
}

function printMetrics({ metrics, metricsFault, nodes }: ClusterStatus): string[][] {
  if (metricsFault !== null) return [['CLOUDS', `unknown: ${metricsFault}`]];
  if (metrics === null) return [['CLOUDS', 'not asked for: see --metrics-url']];
  const all = nodes?.reduce((sum, { count }) => sum + count, 0);
  const clouds = metrics.clouds.map(({ cloud, reportOnly, calls, throttled, failed }) => {
    const mode = reportOnly ? 'report-only' : 'full';
    return `${cloud}: ${mode}, ${calls} calls since the leader started, ${throttled} throttled, ${failed} failed`;
  });
  return [
    ...(clouds.length === 0 ? ['none called yet'] : clouds).map((text, at) => [at === 0 ? 'CLOUDS' : '', text]),
    ['ORPHANS', printCounts(metrics.orphans, 'none')],
    ['AGENTS', `${metrics.agents}${all === undefined ? '' : ` of ${all} nodes`} have reported to this leader`],
  ];
}

function printGroups(title: string, groups: readonly Group[] | null, nowMs: number): string {
  if (groups === null) return `${title}  unknown: this credential may not list them\n`;
  const total = groups.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return `${title}  0\n`;
  const rows = groups.map(({ state, reason, ok, count, names, why, since }) => {
    const listed = (some: readonly string[]) => `${some.join(', ')}${count > shownNames ? ', ...' : ''}`;
    const [first = '', ...others] = names;
    const told =
      others.length > 0 && why.startsWith(`${first}: `) ? `${why}; also ${listed(others)}` : `${listed(names)}: ${why}`;
    const shown = ok ? '' : told.replace(/: $/, '');
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
