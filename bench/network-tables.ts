import type { IdleHourOptions, IdleHourResult } from './idle-hour.ts';
import type { NodeManagerName, NodeManagersResult } from './measures/node-managers.ts';
import type { RoutesResult } from './measures/routes.ts';
import type { ServicesResult } from './measures/services.ts';
import { median } from './process-figures.ts';
import type { ScaleResult } from './scale.ts';
import type { SideBySideRow } from './side-by-side.ts';
import { printTable, seconds } from './table.ts';

/** @param where ends the title: the latency of the cloud, the kind of API server */
export function printServices(
  where: string,
  results: readonly { readonly services: number; readonly result: ServicesResult }[],
): void {
  const effort = ({ wallMs, calls }: ServicesResult['join']) => `${seconds(wallMs)}, ${calls.total}`;
  printTable(
    `Services of type LoadBalancer ${where}`,
    [
      'Services',
      'last address',
      'calls each',
      'node joins: time, calls',
      'leaves: time, calls',
      'drained after',
      'restart: calls',
      'mutating',
    ],
    results.map(({ services, result: { ready, join, leave, restart } }) => [
      `${services}`,
      seconds(ready.wallMs),
      (ready.calls.total / services).toFixed(2),
      effort(join),
      effort(leave),
      seconds(leave.goneMs),
      `${restart.calls.total}`,
      `${restart.calls.mutating}`,
    ]),
  );
  printTable(
    'Calls to the cloud by kind',
    ['Services: when', 'calls'],
    results.flatMap(({ services, result: { ready, join, leave, restart } }) =>
      (
        [
          ['made', ready],
          ['a node joins', join],
          ['a node leaves', leave],
          ['restart', restart],
        ] as const
      ).map(([when, { calls }]) => [`${services}: ${when}`, listed(calls.byOperation)]),
    ),
  );
}

export function printRoutes(where: string, routes: number, result: RoutesResult): void {
  printTable(
    `${routes} routes ${where}`,
    ['what', 'measured'],
    [
      ['last route made', seconds(result.madeMs)],
      ['last condition written', seconds(result.toldMs)],
      ['cloud calls', listed(result.calls.byOperation)],
      ['cloud calls in the idle minute after', result.idleCallsPerMinute.toFixed(0)],
    ],
  );
}

export function printIdleHour(
  { nodes, services, minutes, replaced = 0 }: IdleHourOptions,
  { calls, apiRequests, complaints, left, cpuSeconds }: IdleHourResult,
): void {
  const anHour = (count: number) => ((count * 60) / minutes).toFixed(0);
  printTable(
    `${minutes} simulated minutes in which ${replaced === 0 ? 'nothing happens' : `${replaced} nodes are replaced`}: ` +
      `${nodes} nodes with routes, ${services} Services`,
    ['what', 'measured'],
    [
      ['cloud calls an hour', anHour(calls.total)],
      ...Object.entries(calls.byOperation).map(([operation, count]) => [`  ${operation}`, anHour(count)]),
      ['mutating cloud calls', `${calls.mutating}`],
      ['API requests a minute', apiRequests.reduce((sum, { perMinute }) => sum + perMinute, 0).toFixed(1)],
      ...apiRequests.map(({ what, perMinute }) => [`  ${what}`, perMinute.toFixed(1)]),
      ['warnings meanwhile', `${complaints.length}`],
      ['processor time of all, s', cpuSeconds.toFixed(0)],
      ...Object.entries(left).map(([what, count]) => [`not as desired ten minutes later: ${what}`, `${count}`]),
    ],
  );
  for (const line of complaints.slice(0, 5)) console.log(line);
}

export function printScale(where: string, { moments, takeoverMs }: ScaleResult): void {
  printTable(
    `Agents at addresses of their own, two replicas, ${where}`,
    ['what', 'half accepted', '99 %', 'all', 'processor: leader, agents', 'API requests', 'RSS, peak MiB', 'met'],
    moments.map(({ what, accepted, memory, outcomes, ...moment }) => [
      what,
      ...(accepted ? [accepted.halfMs, accepted.mostMs, accepted.allMs].map(seconds) : ['', '', '']),
      `${moment.leaderCpuSeconds.toFixed(1)}, ${moment.agentsCpuSeconds.toFixed(1)} s of ${moment.seconds.toFixed(0)}`,
      `${moment.apiRequests ?? 'not counted'}`,
      `${memory.rssMiB}, ${memory.peakMiB}`,
      listed(outcomes),
    ]),
  );
  console.log(`The next replica led ${seconds(takeoverMs)} after the death of the leader.\n`);
}

export function printSideBySide(where: string, rounds: number, rows: readonly SideBySideRow[]): void {
  const repeated = rounds === 1 ? '' : `; medians of ${rounds} rounds, in brackets the lowest and the highest`;
  printTable(
    `Beside upstream's controllers, ${where}${repeated}`,
    ['what', 'ours', 'theirs', 'theirs, tuned', 'theirs : ours', 'tuned : ours'],
    rows.map(({ what, unit, values: { ours, defaults, tuned } }) => [
      unit === 'calls' ? what : `${what}, ${unit}`,
      spread(ours),
      spread(defaults),
      spread(tuned),
      ratio(defaults, ours),
      ratio(tuned, ours),
    ]),
  );
}

/** What is counted in the last round alone stands without brackets. */
export function printNodeManagers(
  { nodes, rounds, idleMinutes }: { readonly nodes: number; readonly rounds: number; readonly idleMinutes: number },
  results: Readonly<Record<NodeManagerName, readonly NodeManagersResult[]>>,
): void {
  const row = (what: string, pick: (result: NodeManagersResult) => number | undefined) => {
    const values = (name: NodeManagerName) => {
      const found = results[name].map(pick).filter((value) => value !== undefined);
      return found.length === 0 ? undefined : found;
    };
    const [ours, theirs] = [values('ours'), values('theirs')];
    return [what, spread(ours), spread(theirs), ratio(theirs, ours)];
  };
  const requests = (name: NodeManagerName) => results[name].at(-1)?.requestsPerMinute ?? new Map<string, number>();
  const sum = (counts: ReadonlyMap<string, number>) => [...counts.values()].reduce((all, each) => all + each, 0);
  const [own, others] = [requests('ours'), requests('theirs')];
  const perMinute = (what: string, ours: number, theirs: number) => [what, ours.toFixed(1), theirs.toFixed(1)];
  printTable(
    `${nodes} nodes, ${nodes} processes each: our agents with a controller, Azure's cloud-node-manager (real API ` +
      `server; medians of ${rounds} rounds, in brackets the lowest and the highest)`,
    ['what', 'ours', 'theirs', 'theirs : ours'],
    [
      row('all Nodes complete, s', ({ completeMs }) => completeMs / 1000),
      row('of these until the controller led, s', ({ ledMs }) => ledMs && ledMs / 1000),
      row("processor time of a node's process until then, s", ({ cpuSeconds }) => cpuSeconds),
      row("a node's process: RSS, MiB", ({ memory }) => memory.rssMiB),
      row("a node's process: anonymous, MiB", ({ memory }) => memory.anonymousMiB),
      row('the controller: RSS, MiB', ({ controllerMemory }) => controllerMemory?.rssMiB),
      row('the controller: anonymous, MiB', ({ controllerMemory }) => controllerMemory?.anonymousMiB),
      perMinute(`API requests a minute, of ${idleMinutes} idle ones`, sum(own), sum(others)),
      ...[...new Set([...own.keys(), ...others.keys()])].map((what) =>
        perMinute(`  ${what}`, own.get(what) ?? 0, others.get(what) ?? 0),
      ),
    ],
  );
}

function spread(values: readonly number[] | undefined): string {
  if (values === undefined) return '';
  const [low, middle, high] = [Math.min(...values), median(values), Math.max(...values)].map(figure);
  return low === high ? `${middle}` : `${middle} (${low}-${high})`;
}

/** Of two contenders in the same round, the median. */
function ratio(theirs: readonly number[] | undefined, ours: readonly number[] | undefined): string {
  if (theirs === undefined || ours === undefined) return '';
  const ratios = theirs.map((value, round) => value / ours[round]!).filter(Number.isFinite);
  return ratios.length === 0 ? '' : median(ratios).toFixed(2);
}

function listed(counts: Readonly<Record<string, number>>): string {
  const texts = Object.entries(counts).map(([what, count]) => `${count} ${what}`);
  return texts.length === 0 ? 'none' : texts.join(', ');
}

function figure(value: number): string {
  return Number.isInteger(value) ? `${value}` : value.toFixed(value < 10 ? 2 : 1);
}
