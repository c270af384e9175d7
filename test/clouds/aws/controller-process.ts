import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { names } from '../../../common/well-known.ts';
import type { ApiUnderTest } from '../../conformance/api-under-test.ts';
import { startEmbeddedApi } from '../../conformance/embedded-api.ts';
import { freePort } from '../../kit/free-ports.ts';
import { type Child, startChild } from '../../kit/world/child.ts';
import { createKubeRest, type KubeRest } from '../../kit/world/kube-rest.ts';
import { createKubelet, type Kubelet } from '../../kit/world/kubelet.ts';
import { applyManifests, serviceAccountToken } from '../../kit/world/manifests.ts';
import { startNodeMonitor } from '../../kit/world/node-monitor.ts';
import { until } from '../../kit/world/scenario.ts';
import { controllerMain, shortened } from '../../kit/world/shortened.ts';
import type { AwsWorld } from './aws-world.ts';

const execute = promisify(execFile);

/** What the controller is to serve: by the cloud's config and the environment. */
export interface ServedCloud extends Pick<AwsWorld, 'configText' | 'env'> {
  /** As in `--cloud-provider`. Default: `aws`. */
  readonly cloud?: string;
  /** Path of its `--cloud-module`. Default: it is a cloud of Mooring. */
  readonly module?: string;
}

export interface CommandEnd {
  readonly code: number;
  /** With `-o json` nothing but that: progress goes to stderr. */
  readonly stdout: string;
  /** And what a command that failed has written to stderr. */
  readonly output: string;
}

/** A Kubernetes API without anything else, and the shipped controller as a process that works on a cloud. */
export interface ControllerProcess {
  readonly rest: KubeRest;
  /** Of the server, as an administrator. */
  readonly api: ApiUnderTest;
  /** What `start` and `command` run from now on, as in the options, and flags of `start` beside those. */
  use(program: readonly string[], flags?: readonly string[]): void;
  /** Starts it; only when none runs. */
  start(): Child;
  /** SIGTERM, and waits for its end. */
  stopProcess(): Promise<void>;
  /** The kubelet of a node; made when it is asked for first. */
  kubelet(name: string): Kubelet;
  readonly running: boolean;
  /** Of the one that was started last. */
  readonly pid: number | undefined;
  /** Waits until `probe` answers; throws with the end of the log when the controller ends first. */
  until<T>(what: string, timeoutMs: number, probe: () => Promise<T | undefined | false>): Promise<T>;
  /** Runs another command of the program with the same configuration: its exit code and what it printed. */
  command(name: string, ...more: readonly string[]): Promise<CommandEnd>;
  /** What it has logged. */
  readonly logFile: string;
  stop(): Promise<void>;
}

export const clusterCidr = '10.244.0.0/16';

export interface ControllerProcessOptions {
  /** What node runs, with its options before it. Default: the controller from its sources. */
  readonly program?: readonly string[];
  /** Flags of `run` beside those of every suite. */
  readonly flags?: readonly string[];
  /** Stays when the process is stopped. Default: an embedded one of its own. */
  readonly api?: ApiUnderTest;
}

/** @param served one cloud, or several of different names in one cluster */
export async function prepareController(
  served: ServedCloud | readonly ServedCloud[],
  { program: first = [controllerMain], flags = [], api: given }: ControllerProcessOptions = {},
): Promise<ControllerProcess> {
  const worlds = [served].flat().map(({ cloud = 'aws', ...world }) => ({ cloud, ...world }));
  const clouds = worlds.map(({ cloud }) => cloud).join();
  const folder = await mkdtemp(join(tmpdir(), `mooring-${clouds}-`));
  const api = given ?? (await startEmbeddedApi());
  const rest = createKubeRest(api);
  await applyManifests(rest);
  const token = await serviceAccountToken(rest, { namespace: names.namespace, name: names.controller });
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, api.kubeconfig(token), { mode: 0o600 });
  const moduleFlags: string[] = [];
  const cloudFlags: string[] = [];
  for (const { cloud, configText, module } of worlds) {
    if (module !== undefined) moduleFlags.push(`--cloud-module=${cloud}=${module}`);
    const config = join(folder, `${cloud}.conf`);
    await writeFile(config, configText);
    const isOnly = worlds.length === 1;
    cloudFlags.push(`--cloud-provider=${cloud}`, `--cloud-config=${isOnly ? '' : `${cloud}=`}${config}`);
  }
  const logFile = join(folder, 'controller.log');
  const kubelets = new Map<string, Kubelet>();
  const monitor = startNodeMonitor(rest, shortened.monitorGraceMs, 1000);
  let child: Child | undefined;
  let program = first;
  let more: readonly string[] = [];
  const args = [
    'run',
    `--kubeconfig=${kubeconfig}`,
    ...moduleFlags,
    ...cloudFlags,
    '--configure-cloud-routes',
    '--controllers=*,nodeipam',
    '--allocate-node-cidrs',
    `--cluster-cidr=${clusterCidr}`,
    `--report-address=127.0.0.1:${await freePort()}`,
    '--report-advertise-address=127.0.0.1',
    '--secure-port=0',
    '--leader-elect-lease-duration=5s',
    '--leader-elect-renew-deadline=3s',
    '--leader-elect-retry-period=1s',
    '--node-monitor-period=1s',
    `--bind-by-name=${clouds}`,
    '--load-balancer-audit-period=4s',
    '--member-drain-time=2s',
    ...flags,
  ];
  const env = Object.assign({}, process.env, ...worlds.map((world) => world.env)) as NodeJS.ProcessEnv;
  return {
    rest,
    logFile,
    api,
    use(next, own = []) {
      program = next;
      more = own;
    },
    get running() {
      return child?.running === true;
    },
    get pid() {
      return child?.pid;
    },
    async until(what, timeoutMs, probe) {
      try {
        return await until(what, timeoutMs, async () => {
          if (!child?.running) throw new Error('the controller has ended');
          return probe();
        });
      } catch (error) {
        throw new Error(`${String(error)}\n${(await readFile(logFile, 'utf8')).slice(-3000)}`);
      }
    },
    start() {
      if (child?.running) throw new Error('a controller runs already');
      child = startChild([...program, ...args, ...more], logFile, env);
      return child;
    },
    async command(name, ...more) {
      const clouds = name === 'explain' ? [] : cloudFlags;
      const words = [name, ...more, ...moduleFlags, ...clouds, `--kubeconfig=${kubeconfig}`];
      try {
        const { stdout } = await execute(process.execPath, [...program, ...words], { env });
        return { code: 0, stdout, output: stdout };
      } catch (error) {
        const { code, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string };
        if (typeof code !== 'number') throw error;
        return { code, stdout, output: `${stdout}${stderr}` };
      }
    },
    async stopProcess() {
      await child?.stop();
    },
    kubelet(name) {
      const known = kubelets.get(name);
      if (known !== undefined) return known;
      const kubelet = createKubelet({ rest, name, token: api.nodeToken(name), systemUuid: '', leaseRenewMs: 2000 });
      kubelets.set(name, kubelet);
      return kubelet;
    },
    async stop() {
      for (const kubelet of kubelets.values()) kubelet.stop();
      await monitor.stop();
      await child?.stop();
      rest.close();
      if (given === undefined) await api.stop();
      if (!process.env['MOORING_SHOW']) await rm(folder, { recursive: true });
    },
  };
}
