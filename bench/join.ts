import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { systemClock } from '../common/process/clock.ts';
import { type RunningCloud, startCloud } from '../test/sandbox/cloud/start-cloud.ts';
import { type Child, startChild } from '../test/sandbox/world/child.ts';
import { createKubeRest, type KubeRest } from '../test/sandbox/world/kube-rest.ts';
import { freshNode, measureBarePatches } from './bare-patches.ts';
import { type BenchApi, startBenchApi } from './start-bench-api.ts';

/** One round: the same API server, the bare patches, then the controller on as many Nodes. */
export interface JoinResult {
  readonly bareMs: number;
  /** From the moment the controller leads to the last taint gone. */
  readonly joinMs: number;
  readonly cloudCalls: number;
  readonly rssMiB: number;
}

const root = join(import.meta.dirname, '..');
const shippedFlags = ['--max-semi-space-size=1', '--max-old-space-size=96'];

async function createNodes(rest: KubeRest, names: readonly string[]): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < names.length; at = next++)
      await rest.must('POST', '/api/v1/nodes', freshNode(names[at] ?? ''));
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

async function deleteNodes(rest: KubeRest, names: readonly string[]): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let at = next++; at < names.length; at = next++) await rest.call('DELETE', `/api/v1/nodes/${names[at]}`);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

/** Counts down to the last Node initialised by a watch, so that watching costs the server next to nothing. */
async function whenAllInitialised(
  child: Child,
  count: number,
  timeoutMs: number,
): Promise<{ ledMs: number; lastMs: number }> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const lines = (await readFile(child.logFile, 'utf8')).split('\n').filter(Boolean);
    const times = (message: string) =>
      lines.filter((line) => line.includes(`"msg":"${message}"`)).map((line) => Date.parse(JSON.parse(line).time));
    const done = times('node initialised');
    if (done.length >= count) return { ledMs: times('leading')[0] ?? 0, lastMs: Math.max(...done) };
    if (Date.now() > deadline || !child.running)
      throw new Error(`${done.length} of ${count} initialised; log in ${child.logFile}`);
    await sleep(250);
  }
}

async function rssMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

export interface JoinOptions {
  readonly nodes: number;
  readonly latencyMs: number;
}

export async function measureJoin(api: BenchApi['api'], options: JoinOptions): Promise<JoinResult> {
  const rest = createKubeRest(api);
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  let cloud: RunningCloud | undefined;
  let child: Child | undefined;
  const names: string[] = [];
  try {
    const bare = await measureBarePatches(api, options.nodes, {
      client: 'node:https',
      sockets: 32,
      answer: 'metadata',
    });
    cloud = await startCloud({ clock: systemClock(), random: Math.random });
    if (options.latencyMs > 0) cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: options.latencyMs } });
    names.push(...cloud.model.createMany(options.nodes, { name: 'join', smbiosUuid: null }).map(({ name }) => name));
    await createNodes(rest, names);
    const args = await controllerArgs(folder, api, cloud);
    child = startChild(
      [
        ...shippedFlags,
        ...(process.env['BENCH_NODE_FLAGS']?.split(' ') ?? []),
        join(root, 'dist/controller.cjs'),
        'run',
        ...args,
      ],
      join(folder, 'controller.log'),
    );
    const { ledMs, lastMs } = await whenAllInitialised(child, options.nodes, 120_000);
    const cloudCalls = Object.values(cloud.calls.snapshot()).flatMap((codes) => Object.values(codes));
    return {
      bareMs: bare.wallMs,
      joinMs: lastMs - ledMs,
      cloudCalls: cloudCalls.reduce((sum, count) => sum + count, 0),
      rssMiB: await rssMiB(child.pid),
    };
  } finally {
    await child?.stop();
    await cloud?.stop();
    await deleteNodes(rest, names);
    await rest.call('DELETE', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager');
    rest.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function controllerArgs(folder: string, api: BenchApi['api'], cloud: RunningCloud): Promise<string[]> {
  const place = [...cloud.model.places.values()][0];
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'bench',
        cluster: { server: api.url, 'certificate-authority-data': Buffer.from(api.caPem).toString('base64') },
      },
    ],
    users: [{ name: 'bench', user: { token: api.adminToken } }],
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
    'current-context': 'bench',
  };
  await writeFile(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig), { mode: 0o600 });
  await writeFile(
    join(folder, 'cloud.yaml'),
    `endpoint: ${cloud.url}\nproject: ${place?.project}\nregion: ${place?.region}\ncredential: ${cloud.credential}\n`,
    { mode: 0o600 },
  );
  return [
    `--kubeconfig=${join(folder, 'kubeconfig')}`,
    '--cloud-provider=simulated',
    `--cloud-config=${join(folder, 'cloud.yaml')}`,
    '--report-address=127.0.0.1:10270',
    '--report-advertise-address=127.0.0.1',
    '--secure-port=0',
  ];
}

async function main(argv: string[]): Promise<void> {
  const { values } = parseArgs({
    args: argv,
    options: {
      api: { type: 'string', default: 'embedded' },
      nodes: { type: 'string', default: '1000' },
      latency: { type: 'string', default: '0,50,200' },
      rounds: { type: 'string', default: '3' },
    },
  });
  const bench = await startBenchApi(values.api);
  try {
    console.log(
      `${values.nodes} nodes join at once, ${values.api} API server; the bare patches are the same 2 a node, sent by one process over 32 connections`,
    );
    console.log('latency ms  bare s  join s  ratio  cloud calls  peak MiB');
    for (const latency of values.latency.split(',').map(Number)) {
      for (let round = 0; round < Number(values.rounds); round += 1) {
        const {
          bareMs,
          joinMs,
          cloudCalls,
          rssMiB: peak,
        } = await measureJoin(bench.api, { nodes: Number(values.nodes), latencyMs: latency });
        console.log(
          [
            String(latency).padStart(10),
            (bareMs / 1000).toFixed(2).padStart(6),
            (joinMs / 1000).toFixed(2).padStart(6),
            (joinMs / bareMs).toFixed(2).padStart(5),
            String(cloudCalls).padStart(11),
            peak.toFixed(0).padStart(8),
          ].join('  '),
        );
      }
    }
  } finally {
    await bench.stop();
  }
}

if (import.meta.main) await main(process.argv.slice(2));
