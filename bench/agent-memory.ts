// Memory, CPU and start-up time of the agent as it ships: the bundle, with the command line of deploy/, beside a local
// metadata service and a local report API.
// `node bench/agent-memory.ts [--seconds 130] [--cloud simulated|alibaba|aws|azure|gce|hetzner|openstack]`
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startFakeController } from '../agent/testing/fake-controller.ts';
import { hang, startFakeMetadata, treeAnswer } from '../agent/testing/fake-metadata.ts';
import { systemClock } from '../common/process/clock.ts';
import { seededRandom } from '../common/process/random.ts';
import { testCa } from '../common/testing/certificates.ts';
import { names } from '../common/well-known.ts';
import { bundleAgent } from '../scripts/bundle.ts';
import { memoryEnvironment } from '../scripts/image/build-images.ts';
import { startCloud } from '../test/kit/cloud/start-cloud.ts';
import { memoryOf } from './process-figures.ts';

export const agentNodeFlags = ['--lite-mode', '--max-old-space-size=24', '--max-semi-space-size=1'];

export interface AgentFigures {
  /** From starting the process to its first report having arrived. */
  readonly firstReportMs: number;
  /** Processor time until then: what other work on the machine changes least. */
  readonly firstReportCpuMs: number;
  readonly rssMiB: number;
  readonly anonymousMiB: number;
  readonly peakMiB: number;
  /** Share of one core, start-up left out. */
  readonly cpuShare: number;
  readonly bundleKiB: number;
  readonly reports: number;
}

/**
 * Until the engine has collected its garbage of the start: two collections at 8 s cost as much as ten minutes of
 * watching.
 */
const settleSeconds = 20;

const budget = { rssMiB: 60, anonymousMiB: 18, cpuShare: 0.001, firstReportMs: 1000 };

const clouds = ['simulated', 'alibaba', 'aws', 'azure', 'gce', 'hetzner', 'openstack'] as const;
type BenchCloud = (typeof clouds)[number];

async function startMetadata(cloud: BenchCloud): Promise<{ readonly url: string; stop(): Promise<void> }> {
  if (cloud === 'simulated') {
    const started = await startCloud({ clock: systemClock(), random: seededRandom(1) });
    const { id } = started.model.create({ external: true });
    return { url: started.metadataUrl(id), stop: () => started.stop() };
  }
  const fixture = (name: string) => readFile(new URL(`../agent/metadata/fixtures/${name}`, import.meta.url), 'utf8');
  if (cloud === 'gce') return startGce(await fixture('gce.json'));
  if (cloud === 'azure') return startAzure(fixture);
  const tree = await treeOf(cloud, fixture);
  const { url, close } = await startFakeMetadata(treeAnswer(tree));
  return { url, stop: close };
}

async function treeOf(
  cloud: Exclude<BenchCloud, 'simulated' | 'gce' | 'azure'>,
  fixture: (name: string) => Promise<string>,
): Promise<Record<string, string>> {
  if (cloud === 'aws') {
    // A spot instance is asked for more than any other.
    const spot = { '/latest/meta-data/instance-life-cycle': 'spot' };
    return { ...JSON.parse(await fixture('aws.json')), '/latest/api/token': 'token', ...spot };
  }
  if (cloud === 'alibaba') return JSON.parse(await fixture('alibaba.json'));
  if (cloud === 'hetzner') {
    return {
      '/hetzner/v1/metadata': await fixture('hetzner/metadata.yaml'),
      '/hetzner/v1/metadata/private-networks': await fixture('hetzner/private-networks.yaml'),
    };
  }
  return {
    '/openstack/latest/meta_data.json': await fixture('openstack/meta_data.json'),
    '/openstack/latest/network_data.json': await fixture('openstack/network_data.json'),
    '/latest/meta-data/instance-type': 'm1.large',
  };
}

async function startAzure(
  fixture: (name: string) => Promise<string>,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const bodies: Record<string, string> = {
    '/metadata/instance': await fixture('azure/instance.json'),
    '/metadata/loadbalancer': await fixture('azure/loadbalancer.json'),
    '/metadata/scheduledevents': JSON.stringify({ DocumentIncarnation: 1, Events: [] }),
  };
  const { url, close } = await startFakeMetadata(({ path }) => bodies[path.split('?', 1)[0]!]);
  return { url, stop: close };
}

/** Holds long polls, as Google's service does when nothing changes. */
async function startGce(body: string): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const headers = { 'metadata-flavor': 'Google', etag: 'one' };
  const { url, close } = await startFakeMetadata(({ path }) => {
    if (path.includes('wait_for_change')) return hang;
    return path.includes('recursive') ? { status: 200, headers, body } : { status: 404, headers };
  });
  return { url, stop: close };
}

export async function measureAgent(seconds: number, cloud: BenchCloud = 'simulated'): Promise<AgentFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  const clock = systemClock();
  const metadata = await startMetadata(cloud);
  const ca = await testCa();
  const controller = await startFakeController(await ca.issue({ dnsNames: [names.serverName] }));
  let child: ChildProcess | undefined;
  try {
    const bundle = join(folder, 'agent.cjs');
    const { outputs } = await bundleAgent(bundle);
    await writeFile(join(folder, 'ca.crt'), ca.caPem);
    await writeFile(join(folder, 'token'), 'bench-token');
    const started = clock.monotonic();
    child = spawn(
      process.execPath,
      [
        ...agentNodeFlags,
        bundle,
        'run',
        `--cloud=${cloud}`,
        `--metadata-url=${metadata.url}`,
        `--controller-url=${controller.url}`,
        `--ca-file=${join(folder, 'ca.crt')}`,
        `--token-file=${join(folder, 'token')}`,
        '--health-address=127.0.0.1:0',
        ...(cloud === 'azure' ? ['--scheduled-events'] : []),
      ],
      { stdio: ['ignore', 'ignore', 'inherit'], env: { PATH: process.env['PATH'], ...memoryEnvironment } },
    );
    await controller.received(1);
    const firstReportMs = clock.monotonic() - started;
    const firstReportCpuMs = Math.round(1000 * (await cpuSeconds(child.pid!)));
    await pause(settleSeconds);
    const before = await cpuSeconds(child.pid!);
    const measuredFrom = clock.monotonic();
    await pause(seconds);
    const used = (await cpuSeconds(child.pid!)) - before;
    return {
      firstReportMs: Math.round(firstReportMs),
      firstReportCpuMs,
      ...(await memoryOf(child.pid!)),
      cpuShare: used / ((clock.monotonic() - measuredFrom) / 1000),
      bundleKiB: Math.round(Object.values(outputs)[0]!.bytes / 1024),
      reports: controller.reports.length,
    };
  } finally {
    if (child !== undefined) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await controller.close();
    await metadata.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * CPU time of all threads in nanoseconds, from the scheduler: /proc/PID/stat counts hundredths of a second, a tenth of
 * what is measured here.
 */
async function cpuSeconds(pid: number): Promise<number> {
  const threads = await readdir(`/proc/${pid}/task`);
  const spent = threads.map(async (thread) => {
    const [nanoseconds] = (await readFile(`/proc/${pid}/task/${thread}/schedstat`, 'utf8')).split(' ');
    return Number(nanoseconds);
  });
  return (await Promise.all(spent)).reduce((sum, each) => sum + each, 0) / 1e9;
}

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '130' }, cloud: { type: 'string', default: 'simulated' } },
  });
  const cloud = clouds.find((known) => known === values.cloud);
  if (cloud === undefined) throw new RangeError(`--cloud: ${values.cloud}, expected one of ${clouds.join(', ')}`);
  const figures = await measureAgent(Number(values.seconds), cloud);
  const row = (name: string, value: string, limit: string) =>
    process.stdout.write(`${name.padEnd(24)}${value.padStart(10)}  ${limit}\n`);
  row('RSS', `${figures.rssMiB} MiB`, `budget ${budget.rssMiB} MiB`);
  row('anonymous', `${figures.anonymousMiB} MiB`, `budget ${budget.anonymousMiB} MiB`);
  row('peak RSS', `${figures.peakMiB} MiB`, '');
  row('CPU', `${(figures.cpuShare * 100).toFixed(3)} %`, `budget ${budget.cpuShare * 100} % of a core`);
  row('start to first report', `${figures.firstReportMs} ms`, `budget ${budget.firstReportMs} ms`);
  row('processor until then', `${figures.firstReportCpuMs} ms`, '');
  row('bundle', `${figures.bundleKiB} KiB`, `${figures.reports} reports in ${values.seconds} s`);
}
