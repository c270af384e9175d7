// What Mooring costs, measured: see README.md. Nothing here is asserted.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { cloudNodeManager } from '../test/clouds/azure/tools.ts';
import { measureAgent } from './agent-memory.ts';
import { measureBarePatches } from './bare-patches.ts';
import { printCloudCalls } from './cloud-calls/print-cloud-calls.ts';
import { cloudMemoryBudgetMiB, measureCloudMemory } from './cloud-memory.ts';
import { ours } from './contender.ts';
import { findUpstream } from './find-upstream.ts';
import { idleBudget, measureIdle } from './idle.ts';
import { measureIdleHour } from './idle-hour.ts';
import { buildRevision, measureIdleMemory } from './idle-memory.ts';
import { joinBudget, joinWays, measureJoin } from './join.ts';
import { measureManyNodes, printManyNodes } from './many-nodes.ts';
import { measureRoutes } from './measures/routes.ts';
import { measureServices } from './measures/services.ts';
import { measureMemory, memoryBudgetMiB } from './memory.ts';
import {
  printIdleHour,
  printNodeManagers,
  printRoutes,
  printScale,
  printServices,
  printSideBySide,
} from './network-tables.ts';
import { compareNodeManagers } from './node-managers.ts';
import { median } from './process-figures.ts';
import { measureScale } from './scale.ts';
import { buildShipped } from './shipped-controller.ts';
import { contenderNames, measureSideBySide, sideBySideParts } from './side-by-side.ts';
import { onStage } from './stage.ts';
import { type BenchApi, startBenchApi } from './start-bench-api.ts';
import { printTable, seconds } from './table.ts';

const usage = `npm run -s bench -- [MEASURE] [flags]
  MEASURE                 join, memory, idle, idle-hour, rolling-hour, idle-memory, cloud-memory, agent, bare, services,
                          routes, scale, many-nodes, cloud-calls, upstream, node-managers or all
  --api embedded|real     API server, in a process of its own (embedded; real for upstream and node-managers)
  --nodes N               1000; 5000 for memory, idle, idle-hour, rolling-hour and scale; 20 for services; of many-nodes
                          25000, 50000 and 100000; 100 for node-managers
  --rounds N              rounds whose medians are shown, of join, bare, upstream and node-managers (3)
  --latency 0,50,200      milliseconds of each call to the cloud, of join; 100 for services, routes and upstream
  --ways at-start,created,reports   who joins, of join
  --minutes N             of memory's soak (3), idle (15), scale's agents at their own pace (1), idle-hour and
                          rolling-hour (60), idle-memory and cloud-memory (0.5), node-managers' count of requests (20)
  --services N,N          1,200,500 for services; 500 for idle-hour and rolling-hour; 200 for upstream
  --routes N              1000 for routes, 300 for upstream
  --parts ${sideBySideParts.join(',')}     of upstream
  --contenders ${contenderNames.join(',')}     of upstream
  --against REV           another revision, of idle-memory
  --memory-nodes N        5000, of upstream's memory
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    api: { type: 'string' },
    nodes: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    latency: { type: 'string' },
    ways: { type: 'string', default: joinWays.join(',') },
    minutes: { type: 'string' },
    services: { type: 'string' },
    routes: { type: 'string' },
    parts: { type: 'string', default: sideBySideParts.join(',') },
    contenders: { type: 'string', default: contenderNames.join(',') },
    against: { type: 'string' },
    'memory-nodes': { type: 'string', default: '5000' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const rounds = positive('rounds', values.rounds);
const nodes = values.nodes === undefined ? undefined : positive('nodes', values.nodes);
const minutes = values.minutes === undefined ? undefined : positive('minutes', values.minutes);
const ways = values.ways.split(',').map((text) => oneOf('ways', text, joinWays));
const latencies = values.latency?.split(',').map((text) => {
  const ms = Number(text);
  if (!Number.isFinite(ms) || ms < 0) throw new RangeError(`--latency: ${text}, expected milliseconds`);
  return ms;
});
const latencyMs = latencies?.[0] ?? 100;
const serviceCounts = values.services?.split(',').map((text) => positive('services', text));
const routes = values.routes === undefined ? undefined : positive('routes', values.routes);
const parts = values.parts.split(',').map((text) => oneOf('parts', text, sideBySideParts));
const contenders = values.contenders.split(',').map((text) => oneOf('contenders', text, contenderNames));
const memoryNodes = positive('memory-nodes', values['memory-nodes']);
const progress = (line: string) => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);

interface Stage {
  readonly bench: BenchApi;
  readonly dist: string;
  readonly folder: string;
}

const benches: Readonly<Record<string, (stage: Stage) => Promise<void>>> = {
  async bare({ bench }) {
    const count = nodes ?? 1000;
    const rows = [];
    for (const sockets of [8, 16, 32]) {
      const way = { client: 'node:https', sockets, answer: 'metadata' } as const;
      const results = await repeated(() => measureBarePatches(bench.api, count, way));
      const wallMs = median(results.map((result) => result.wallMs));
      rows.push([`${sockets}`, seconds(wallMs), ((2000 * count) / wallMs).toFixed(0)]);
    }
    printTable(
      `Two bare patches on each of ${count} Nodes (${bench.api.kind} API server)`,
      ['sockets', 'wall', 'patches/s'],
      rows,
    );
  },

  async join({ bench, dist }) {
    const count = nodes ?? 1000;
    const rows = [];
    for (const way of ways) {
      for (const latencyMs of way === 'reports' ? [0] : (latencies ?? [0, 50, 200])) {
        const results = await repeated(() => measureJoin(bench.api, dist, { way, nodes: count, latencyMs }));
        const of = (pick: (result: (typeof results)[number]) => number) => median(results.map(pick));
        rows.push([
          way,
          `${latencyMs} ms`,
          seconds(of((result) => result.bareMs)),
          seconds(of((result) => result.firstMs)),
          seconds(of((result) => result.joinMs)),
          of((result) => result.joinMs / result.bareMs).toFixed(2),
          of((result) => result.cloudCalls).toFixed(0),
          seconds(of((result) => result.cpuSeconds) * 1000),
          of((result) => result.peakMiB).toFixed(0),
        ]);
      }
    }
    printTable(
      `${count} nodes join (${bench.api.kind} API server; budget: ${joinBudget.ratio} x bare, ` +
        `${joinBudget.cloudCalls} cloud calls, ${joinBudget.cpuSecondsPerThousand} s of processor per 1,000)`,
      ['found', 'cloud', 'bare', 'first', 'last', 'ratio', 'cloud calls', 'processor', 'peak MiB'],
      rows,
    );
  },

  async memory({ bench, dist }) {
    const count = nodes ?? 5000;
    const soakMinutes = minutes ?? 3;
    const { moments, ...result } = await measureMemory(bench.api, dist, { nodes: count, soakMinutes });
    printTable(
      `Memory of the controller, ${count} nodes of 12 KB (${bench.api.kind} API server; budget: peak ` +
        `${memoryBudgetMiB} MiB at 5,000), MiB`,
      ['after', 'RSS', 'anonymous', 'peak'],
      moments.map(({ after, rssMiB, anonymousMiB, peakMiB }) => [
        after,
        ...[rssMiB, anonymousMiB, peakMiB].map(String),
      ]),
    );
    console.log(
      `${(result.peakBytesPerNode / 1024).toFixed(1)} KiB a node at the peak; ` +
        `${result.slopeMiBPerMinute.toFixed(2)} MiB a minute in the second half of the soak ` +
        `(${result.reports} reports, ${result.heartbeats} heartbeats: ten times the usual)\n`,
    );
  },

  async idle({ bench, dist }) {
    if (bench.requests === undefined)
      return console.log('idle: only the embedded API server counts who asks (--api embedded)\n');
    const count = nodes ?? 5000;
    const result = await measureIdle(bench, dist, { nodes: count, minutes: minutes ?? 15 });
    printTable(
      `A leader of ${count} nodes while nothing happens`,
      ['what', 'measured', 'budget'],
      [
        ['cloud calls an hour: instances, others', both(result.cloudCallsPerHour), both(idleBudget.cloudCallsPerHour)],
        ['API requests a minute', result.apiRequestsPerMinute.toFixed(0), `${idleBudget.apiRequestsPerMinute}`],
        ['share of a core', percent(result.cpuShare), percent(idleBudget.cpuShare)],
        ['RSS, peak', `${result.rssMiB}, ${result.peakMiB} MiB`, `${memoryBudgetMiB} MiB`],
        ...result.apiRequests.map(({ what, perMinute }) => [`  ${what}`, perMinute.toFixed(1), '']),
      ],
    );
  },

  async 'idle-memory'({ bench, dist, folder }) {
    const built = [{ name: 'this checkout', dist }];
    if (values.against !== undefined) {
      progress(`building ${values.against}`);
      built.push(await buildRevision(values.against, folder));
    }
    const idle = 60 * (minutes ?? 0.5);
    const figures = await measureIdleMemory(bench.api, built, { rounds, seconds: idle });
    printTable(
      `A leader of an empty cluster with the simulated cloud alone, after ${idle} s (median of ${rounds}), MiB`,
      ['of', 'RSS', 'anonymous', 'peak'],
      [...figures].map(([name, one]) => [name, ...[one.rssMiB, one.anonymousMiB, one.peakMiB].map(String)]),
    );
  },

  async 'cloud-memory'({ dist }) {
    const idle = 60 * (minutes ?? 0.5);
    const figures = await measureCloudMemory(dist, { rounds, seconds: idle });
    const base = figures.get('simulated')!;
    const more = (one: number, other: number) => `${one} (${one < other ? '' : '+'}${(one - other).toFixed(1)})`;
    printTable(
      `A leader of three nodes with routes, after ${idle} s (median of ${rounds}; in brackets beside simulated, ` +
        `budget +${cloudMemoryBudgetMiB}), MiB`,
      ['cloud', 'RSS', 'anonymous', 'peak'],
      [...figures].map(([name, one]) => [
        name,
        more(one.rssMiB, base.rssMiB),
        more(one.anonymousMiB, base.anonymousMiB),
        more(one.peakMiB, base.peakMiB),
      ]),
    );
  },

  async agent() {
    const figures = await measureAgent(60 * (minutes ?? 2));
    printTable(
      'The agent',
      ['what', 'measured', 'budget'],
      [
        ['RSS', `${figures.rssMiB} MiB`, '60 MiB'],
        ['anonymous', `${figures.anonymousMiB} MiB`, '18 MiB'],
        ['share of a core', percent(figures.cpuShare), '0.10 %'],
        ['start to first report', `${figures.firstReportMs} ms`, '1000 ms'],
        ['processor until then', `${figures.firstReportCpuMs} ms`, ''],
      ],
    );
  },

  async services({ bench, dist }) {
    const on = nodes ?? 20;
    const results = [];
    for (const services of serviceCounts ?? [1, 200, 500]) {
      progress(`${services} Services`);
      const size = { services, nodes: on };
      const result = await onStage(bench.api, ours(dist), { latencyMs }, (stage) => measureServices(stage, size));
      results.push({ services, result });
    }
    printServices(`on ${on} nodes, ${whereOf(bench)}`, results);
  },

  async routes({ bench, dist }) {
    const count = routes ?? 1000;
    const preparer = ours(dist);
    const size = { routes: count, preparer, idleSeconds: 60 };
    const result = await onStage(bench.api, preparer, { latencyMs }, (stage) => measureRoutes(stage, size));
    printRoutes(whereOf(bench), count, result);
  },

  async scale({ bench, dist }) {
    const size = { nodes: nodes ?? 5000, minutes: minutes ?? 1 };
    const result = await measureScale(bench, dist, size, progress);
    printScale(`${size.nodes} nodes (${bench.api.kind} API server)`, result);
  },

  async upstream({ bench, dist }) {
    const found = await findUpstream(process.env, progress);
    if (found.path === undefined) return console.error(`upstream: SKIPPED, ${found.reason}`);
    const size = {
      program: found.path,
      parts,
      contenders,
      latencyMs,
      rounds,
      nodes: nodes ?? 1000,
      services: serviceCounts?.[0] ?? 200,
      routes: routes ?? 300,
      memoryNodes,
    };
    printSideBySide(whereOf(bench), rounds, await measureSideBySide(bench, dist, size, progress));
  },

  async 'node-managers'({ bench, dist }) {
    const { requests } = bench;
    if (requests === undefined || bench.api.kind !== 'real')
      return console.error(
        'node-managers: SKIPPED, only the real API server counts what all programs ask (--api real)',
      );
    progress('building cloud-node-manager with go, some minutes the first time');
    const found = await cloudNodeManager();
    if ('skipped' in found) return console.error(`node-managers: SKIPPED, ${found.skipped}`);
    const size = { nodes: nodes ?? 100, rounds, idleMinutes: minutes ?? 20 };
    const options = { ...size, dist, program: found.program, requests };
    printNodeManagers(size, await compareNodeManagers(bench.api, options, progress));
  },
};

/** Those that need no API server and no build. */
const alone: Readonly<Record<string, () => Promise<void>>> = {
  async 'idle-hour'() {
    const size = { nodes: nodes ?? 5000, services: serviceCounts?.[0] ?? 500, minutes: minutes ?? 60 };
    printIdleHour(size, await measureIdleHour(size, progress));
  },

  async 'rolling-hour'() {
    const size = { nodes: nodes ?? 5000, services: serviceCounts?.[0] ?? 500, minutes: minutes ?? 60 };
    const rolling = { ...size, replaced: size.nodes };
    printIdleHour(rolling, await measureIdleHour(rolling, progress));
  },

  'many-nodes': async () =>
    printManyNodes(await measureManyNodes(nodes === undefined ? [25_000, 50_000, 100_000] : [nodes], progress)),
  'cloud-calls': () => printCloudCalls({ nodes: nodes ?? 20, services: serviceCounts?.[0] ?? 5, ports: 2 }, progress),
};

/** Not part of `all`: it needs a real API server, and go. */
const onlyWhenNamed = new Set(['upstream', 'node-managers']);

function whereOf({ api }: BenchApi): string {
  return `${latencyMs} ms a call to the cloud (${api.kind} API server)`;
}

async function repeated<T>(measure: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  for (let round = 0; round < rounds; round += 1) results.push(await measure());
  return results;
}

function both(counts: readonly number[]): string {
  return counts.map((count) => count.toFixed(0)).join(', ');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`;
}

function positive(flag: string, text: string): number {
  const number = Number(text);
  if (!(number > 0)) throw new RangeError(`--${flag}: ${text}, expected a positive number`);
  return number;
}

function oneOf<const T extends string>(flag: string, text: string, known: readonly T[]): T {
  const found = known.find((one) => one === text);
  if (found === undefined) throw new RangeError(`--${flag}: ${text}, expected one of ${known.join(', ')}`);
  return found;
}

async function main(): Promise<void> {
  const asked =
    positionals.length === 0 || positionals.includes('all')
      ? [...Object.keys(benches), ...Object.keys(alone)].filter((name) => !onlyWhenNamed.has(name))
      : positionals;
  const unknown = asked.filter((name) => benches[name] === undefined && alone[name] === undefined);
  if (values.help || unknown.length > 0) {
    process.stderr.write(unknown.length > 0 ? `${unknown.join(', ')}: no such bench\n${usage}` : usage);
    process.exitCode = values.help ? 0 : 2;
    return;
  }
  for (const name of asked) await alone[name]?.();
  const staged = asked.filter((name) => benches[name] !== undefined);
  if (staged.length === 0) return;
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  const kind = staged.some((name) => onlyWhenNamed.has(name)) ? 'real' : 'embedded';
  const bench = await startBenchApi(values.api ?? kind, staged.includes('node-managers'));
  try {
    const stage = { bench, dist: await buildShipped(folder), folder };
    for (const name of staged) await benches[name]!(stage);
  } finally {
    await bench.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
