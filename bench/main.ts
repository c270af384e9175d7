import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineFlags } from '../common/process/flags.ts';
import { defineCommand } from '../common/process/program.ts';
import { runAsProcess } from '../common/process/run-as-process.ts';
import { version } from '../common/version.ts';
import { joinBudget, joinWays, measureJoin } from './join.ts';
import { measureMemory, memoryBudgetMiB } from './memory.ts';
import { buildShipped } from './shipped-controller.ts';
import { startBenchApi } from './start-bench-api.ts';

const apiFlag = {
  kind: 'string',
  default: 'embedded',
  choices: ['embedded', 'real'],
  help: 'API server, a process of its own.',
} as const;

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const joinCommand = defineCommand({
  summary: 'Nodes that join at once, beside the same patches sent bare in the same run.',
  flags: defineFlags({
    api: apiFlag,
    nodes: { kind: 'int', default: 1000, min: 1, help: 'Nodes that join.' },
    way: {
      kind: 'list',
      default: [...joinWays],
      choices: [...joinWays],
      help: 'at start: the Nodes wait when the controller begins to lead; created: it leads already; reports: no API of the cloud, reports alone.',
    },
    latency: { kind: 'list', default: ['0', '50', '200'], help: 'Milliseconds that a call to the cloud takes.' },
    rounds: { kind: 'int', default: 3, min: 1, help: 'Rounds; the median of their ratios is shown last.' },
  }),
  examples: ['npm run -s bench -- join --api real', 'npm run -s bench -- join --way "at start" --latency 0'],
  async run({ values, io }) {
    const dist = await mkdtemp(join(tmpdir(), 'mooring-bench-dist-'));
    const bench = await startBenchApi(values.api);
    try {
      const shipped = await buildShipped(dist);
      io.stdout(
        `${values.nodes} nodes, ${values.api} API server; budget: ratio ${joinBudget.ratio}, ${joinBudget.cloudCalls} cloud calls\n`,
      );
      io.stdout('way       latency ms  bare s  join s  ratio  cloud calls  peak MiB\n');
      for (const way of joinWays.filter((each) => values.way.includes(each))) {
        for (const latencyMs of (way === 'reports' ? ['0'] : values.latency).map(Number)) {
          const ratios: number[] = [];
          for (let round = 0; round < values.rounds; round += 1) {
            const { bareMs, joinMs, cloudCalls, peakMiB } = await measureJoin(bench.api, shipped, {
              way,
              nodes: values.nodes,
              latencyMs,
            });
            ratios.push(joinMs / bareMs);
            const cells = [
              String(latencyMs).padStart(10),
              (bareMs / 1000).toFixed(2).padStart(6),
              (joinMs / 1000).toFixed(2).padStart(6),
              (joinMs / bareMs).toFixed(2).padStart(5),
              String(cloudCalls).padStart(11),
              peakMiB.toFixed(0).padStart(8),
            ];
            io.stdout(`${way.padEnd(8)}  ${cells.join('  ')}\n`);
          }
          io.stdout(`${way.padEnd(8)}  median ratio ${median(ratios).toFixed(2)}\n`);
        }
      }
      return 0;
    } finally {
      await bench.stop();
      await rm(dist, { recursive: true, force: true });
    }
  },
});

const memoryCommand = defineCommand({
  summary: 'Memory of the leader with many nodes, their agents and kubelets at work.',
  flags: defineFlags({
    api: apiFlag,
    nodes: { kind: 'int', default: 5000, min: 1, help: 'Nodes of about 12 KB.' },
    soak: {
      kind: 'number',
      default: 3,
      min: 0,
      help: 'Minutes that kubelets and agents go on, ten times as fast as they would.',
    },
  }),
  examples: ['npm run -s bench -- memory', 'npm run -s bench -- memory --nodes 15000 --soak 1'],
  async run({ values, io }) {
    const bench = await startBenchApi(values.api);
    try {
      const result = await measureMemory(bench.api, { nodes: values.nodes, soakMinutes: values.soak });
      io.stdout(`${values.nodes} nodes, ${values.api} API server; budget: peak ${memoryBudgetMiB} MiB at 5,000\n`);
      io.stdout('peak MiB  RSS MiB  anon MiB  after\n');
      for (const { after, peakMiB, rssMiB, anonymousMiB } of result.moments) {
        io.stdout(
          `${peakMiB.toFixed(0).padStart(8)}  ${rssMiB.toFixed(0).padStart(7)}  ${anonymousMiB.toFixed(0).padStart(8)}  ${after}\n`,
        );
      }
      io.stdout(
        `${result.reports} reports, ${result.heartbeats} heartbeats; ${Math.round(result.peakBytesPerNode)} bytes of peak a node; slope ${result.slopeMiBPerMinute.toFixed(2)} MiB a minute\n`,
      );
      return 0;
    } finally {
      await bench.stop();
    }
  },
});

/** Benches with a command line of their own. */
function script(file: string, summary: string) {
  return defineCommand({
    summary,
    flags: defineFlags({}),
    examples: [`node bench/${file} --help`],
    async run() {
      return spawnSync(process.execPath, [join(import.meta.dirname, file)], { stdio: 'inherit' }).status ?? 1;
    },
  });
}

runAsProcess(() => ({
  name: 'bench',
  version,
  summary: 'Measurements; nothing is asserted. Two shared cores are noisy: quote medians.',
  commands: {
    join: joinCommand,
    memory: memoryCommand,
    agent: script('agent-memory.ts', 'Memory, processor and start of the agent as it ships, against its budgets.'),
    bare: script('bare-patches.ts', 'How fast bare patches go, by client and number of connections.'),
  },
}));
