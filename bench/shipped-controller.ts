import { mkdtemp, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { buildAll } from '../scripts/build.ts';
import { memoryEnvironment } from '../scripts/image/build-images.ts';
import type { RunningCloud } from '../test/kit/cloud/start-cloud.ts';
import { freePorts } from '../test/kit/free-ports.ts';
import { startChild } from '../test/kit/world/child.ts';
import { createKubeRest } from '../test/kit/world/kube-rest.ts';
import { applyManifests } from '../test/kit/world/manifests.ts';
import type { BenchApi } from './start-bench-api.ts';

/** The controller as it ships: the bundle of this checkout with the command line of deploy/. */
export interface ShippedController {
  readonly pid: number;
  readonly reportPort: number;
  /** Milliseconds since 1970 of the log lines with this message so far. */
  times(message: string): Promise<readonly number[]>;
  /** Resolves with those times once there are `count`. Throws when the process ends or the deadline passes before. */
  logged(message: string, count: number, timeoutMs: number): Promise<readonly number[]>;
  stop(): Promise<void>;
  /** As when its machine dies: nothing is released. */
  kill(): Promise<void>;
}

export interface ShippedControllerOptions {
  readonly api: BenchApi['api'];
  readonly cloud: RunningCloud;
  /** Without it the cloud is served from reports alone. */
  readonly credentials: boolean;
  readonly folder: string;
  /** In place of those of the simulated cloud. */
  readonly cloudFlags?: readonly string[];
  /** More of `run`'s flags. */
  readonly extra?: readonly string[];
}

/** Builds everything that ships into a folder of its own under `folder`, which it answers. */
export async function buildShipped(folder: string): Promise<string> {
  const dist = await mkdtemp(join(folder, 'dist-'));
  await buildAll(dist);
  return dist;
}

/** The flags for node itself in the manifest's command, with the heap that the container's memory limit gives. */
export async function nodeFlags(): Promise<string[]> {
  const text = await readFile(new URL('../deploy/base/controller.yaml', import.meta.url), 'utf8');
  const manifests = parseAllDocuments(text).map((document) => document.toJS());
  const deployment = manifests.find((manifest) => manifest?.kind === 'Deployment');
  const { command, resources } = deployment.spec.template.spec.containers[0];
  const limitMiB = Number(/^(\d+)Mi$/.exec(resources.limits.memory)?.[1]);
  const flags = (command as string[])
    .filter((word) => word.startsWith('--'))
    .map((flag) => {
      const share = /^--max-old-space-size-percentage=(\d+)$/.exec(flag)?.[1];
      return share === undefined ? flag : `--max-old-space-size=${Math.floor((limitMiB * Number(share)) / 100)}`;
    });
  return [...flags, ...(process.env['BENCH_NODE_FLAGS']?.split(' ') ?? [])];
}

/** What any cloud controller needs to find the API server and the simulated cloud. */
export interface RunFiles {
  readonly kubeconfig: string;
  readonly cloud: string;
}

/** Writes them into `folder`. */
export async function writeRunFiles({
  api,
  cloud,
  credentials,
  folder,
}: Omit<ShippedControllerOptions, 'cloudFlags' | 'extra'>): Promise<RunFiles> {
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
  const files = { kubeconfig: join(folder, 'kubeconfig'), cloud: join(folder, 'cloud.yaml') };
  const credential = credentials ? `credential: ${cloud.credential}\n` : '';
  await writeFile(files.kubeconfig, JSON.stringify(kubeconfig), { mode: 0o600 });
  await writeFile(
    files.cloud,
    `endpoint: ${cloud.url}\nproject: ${place?.project}\nregion: ${place?.region}\n${credential}`,
    { mode: 0o600 },
  );
  return files;
}

/** Flags that ours and upstream's have in common. */
export function runFlags(files: RunFiles, cloudFlags = simulatedFlags(files)): string[] {
  return [`--kubeconfig=${files.kubeconfig}`, ...cloudFlags];
}

function simulatedFlags(files: RunFiles): readonly string[] {
  return ['--cloud-provider=simulated', `--cloud-config=${files.cloud}`];
}

export async function startShippedController(
  dist: string,
  { api, cloud, credentials, folder, cloudFlags, extra = [] }: ShippedControllerOptions,
): Promise<ShippedController> {
  const files = await writeRunFiles({ api, cloud, credentials, folder });
  const rest = createKubeRest(api);
  await applyManifests(rest).finally(() => rest.close());
  const ports = await freePorts('report', 'secure');
  const log = join(await mkdtemp(join(folder, 'log-')), 'controller.log');
  const child = startChild(
    [
      ...(await nodeFlags()),
      join(dist, 'controller.cjs'),
      'run',
      ...runFlags(files, cloudFlags),
      `--report-address=127.0.0.1:${ports.report}`,
      '--report-advertise-address=127.0.0.1',
      `--secure-port=${ports.secure}`,
      ...extra,
    ],
    log,
    { PATH: process.env['PATH'], ...memoryEnvironment },
  );
  const lines = logTimes(log);

  async function logged(message: string, count: number, timeoutMs: number): Promise<readonly number[]> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const times = await lines(message);
      if (times.length >= count) return times;
      if (!child.running || Date.now() > deadline) {
        const end = (await readFile(log, 'utf8')).slice(-2000);
        throw new Error(`${times.length} of ${count} times "${message}" in the log, which ends in:\n${end}`);
      }
      await sleep(200);
    }
  }

  return {
    pid: child.pid,
    reportPort: ports.report,
    times: lines,
    logged,
    stop: async () => void (await child.stop()),
    kill: child.kill,
  };
}

/** Reads on where it stopped, so that waiting for thousands of lines costs little. */
function logTimes(file: string): (message: string) => Promise<readonly number[]> {
  const times = new Map<string, number[]>();
  let position = 0;
  let rest = '';
  return async (message) => {
    const handle = await open(file);
    const { size } = await handle.stat();
    const chunk = Buffer.alloc(size - position);
    await handle.read(chunk, 0, chunk.length, position);
    await handle.close();
    position = size;
    const lines = (rest + chunk.toString('utf8')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [, time, text] = /^\{"time":"([^"]+)".*?"msg":"((?:[^"\\]|\\.)*)"/.exec(line) ?? [];
      if (time === undefined || text === undefined) continue;
      const known = times.get(text);
      if (known) known.push(Date.parse(time));
      else times.set(text, [Date.parse(time)]);
    }
    return times.get(message) ?? [];
  };
}
