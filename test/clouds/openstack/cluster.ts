import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../common/process/clock.ts';
import { names } from '../../../common/well-known.ts';
import { freePorts } from '../../kit/free-ports.ts';
import { startKubeApi } from '../../kit/kube-api/start-kube-api.ts';
import { createAgentPod, mountConfigMap } from '../../kit/world/agent-pod.ts';
import { type Child, startChild } from '../../kit/world/child.ts';
import { createKubeRest, type KubeRest } from '../../kit/world/kube-rest.ts';
import { createKubelet, type Kubelet } from '../../kit/world/kubelet.ts';
import { applyManifests, serviceAccountToken } from '../../kit/world/manifests.ts';
import { startNodeMonitor } from '../../kit/world/node-monitor.ts';
import { agentMain, controllerMain, shortened } from '../../kit/world/shortened.ts';
import { findBinaries } from '../../real/binaries.ts';
import { startRealApi } from '../../real/start-real-api.ts';
import type { CloudVm } from '../suite/world.ts';
import { type MetadataService, startMetadataProxy } from './metadata-proxy.ts';

export interface ClusterOptions {
  readonly nodeNames: readonly string[];
  /** A whole cloud.conf. */
  readonly cloudConfig: string;
  /** Of the controller and the agents: names the cloud. */
  readonly env: NodeJS.ProcessEnv;
  readonly podRange: string;
  readonly projectId: string;
  /** Undefined: no agents. */
  readonly metadata: MetadataService | undefined;
}

/**
 * A cluster on this machine whose VMs are servers of a real OpenStack: API server, kubelets, agents and a controller.
 */
export interface Cluster {
  readonly rest: KubeRest;
  /** Whether Nodes look six minutes older than they are: as old as one has to be before its absence counts. */
  readonly aged: boolean;
  readonly controller: Child;
  readonly agents: readonly Child[];
  readonly controllerLog: string;
  /** Its kubelet registers, and its agent starts. */
  boot(vm: CloudVm): Promise<void>;
  /** Kubelet and agent fall silent without a word. */
  powerLoss(name: string): Promise<void>;
  restartController(): Promise<void>;
  /** Puts another cloud.conf in place, as a changed Secret does. */
  configure(cloudConfig: string): Promise<void>;
  stop(): Promise<void>;
}

const agedMs = 6 * 60_000;

export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-openstack-'));
  const api = await startApi(options.nodeNames);
  const rest = createKubeRest(api);
  await applyManifests(rest);
  const token = await serviceAccountToken(rest, { namespace: names.namespace, name: names.controller });
  const [kubeconfig, cloudConfig] = [join(folder, 'kubeconfig'), join(folder, 'cloud.conf')];
  await writeFile(kubeconfig, api.kubeconfig(token), { mode: 0o600 });
  await writeFile(cloudConfig, options.cloudConfig, { mode: 0o600 });
  const args = await controllerArgs({ kubeconfig, cloudConfig, podRange: options.podRange });
  const controllerLog = join(folder, 'controller.log');
  let controller = startChild(args, controllerLog, options.env);

  const vms = new Map<string, { readonly kubelet: Kubelet; readonly agent: Child | undefined; close(): void }>();
  const mounts: Awaited<ReturnType<typeof createAgentPod>>[] = [];
  const mounted = mountConfigMap(rest, () => mounts, 500);
  const monitor = startNodeMonitor(rest, shortened.monitorGraceMs, 1000);

  async function startAgent(vm: CloudVm, service: MetadataService) {
    const id = idOf(vm);
    const proxy = await startMetadataProxy(service, {
      id,
      projectId: options.projectId,
      address: vm.addresses[0] ?? '',
    });
    const place = join(folder, 'agents', vm.name);
    const mount = await createAgentPod(rest, vm.name, place);
    mounts.push(mount);
    await writeFirmware(join(place, 'root'), id);
    const flags = ['--max-old-space-size=24', '--max-semi-space-size=1'];
    const agentArgs = [
      `--node-name=${vm.name}`,
      `--metadata-url=${proxy.url}`,
      `--system-root=${join(place, 'root')}`,
      `--token-file=${mount.tokenFile}`,
      `--ca-file=${mount.caFile}`,
      `--controller-url-file=${mount.urlFile}`,
      `--poll-interval=${shortened.pollInterval}`,
      `--heartbeat=${shortened.heartbeat}`,
      '--health-address=127.0.0.1:0',
    ];
    const agent = startChild([...flags, agentMain, 'run', ...agentArgs], join(place, 'log'), options.env);
    return { agent, close: proxy.close };
  }

  return {
    rest,
    aged: api.aged,
    get controller() {
      return controller;
    },
    get agents() {
      return [...vms.values()].flatMap(({ agent }) => agent ?? []);
    },
    controllerLog,
    async boot(vm) {
      const systemUuid = idOf(vm);
      const kubelet = createKubelet({
        rest,
        name: vm.name,
        token: api.nodeToken(vm.name),
        systemUuid,
        leaseRenewMs: shortened.kubeletLeaseMs,
      });
      await kubelet.start();
      const running = options.metadata === undefined ? undefined : await startAgent(vm, options.metadata);
      vms.set(vm.name, { kubelet, agent: running?.agent, close: () => running?.close() });
    },
    async powerLoss(name) {
      const vm = vms.get(name);
      vm?.kubelet.stop();
      await vm?.agent?.kill();
      vm?.close();
    },
    async configure(text) {
      await writeFile(`${cloudConfig}.new`, text, { mode: 0o600 });
      await rename(`${cloudConfig}.new`, cloudConfig);
    },
    async restartController() {
      await controller.stop();
      controller = startChild(args, controllerLog, options.env);
    },
    async stop() {
      mounted.stop();
      await monitor.stop();
      await controller.stop();
      for (const { kubelet, agent, close } of vms.values()) {
        kubelet.stop();
        await agent?.kill();
        close();
      }
      rest.close();
      await api.stop();
      if (process.env['MOORING_KEEP'] === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

const idOf = ({ providerID }: CloudVm) => providerID.slice(providerID.lastIndexOf('/') + 1);

/** A real one where its programs are, else the embedded one with a clock that lags. */
async function startApi(nodeNames: readonly string[]) {
  if (process.env['KUBEBUILDER_ASSETS'] !== undefined) {
    const { found } = await findBinaries(process.env, () => {});
    if (found)
      return Object.assign(await startRealApi({ binaries: found, nodeNames: [...nodeNames] }), {
        aged: false,
      });
  }
  const clock = systemClock();
  const lagging = { ...clock, now: () => clock.now() - agedMs };
  return Object.assign(await startKubeApi({ clock: lagging, random: Math.random }), { aged: true });
}

async function controllerArgs(files: { kubeconfig: string; cloudConfig: string; podRange: string }) {
  const ports = await freePorts('report', 'secure');
  return [
    '--max-semi-space-size=1',
    '--max-old-space-size=128',
    '--optimize-for-size',
    controllerMain,
    'run',
    `--kubeconfig=${files.kubeconfig}`,
    '--cloud-provider=openstack',
    `--cloud-config=${files.cloudConfig}`,
    `--report-address=127.0.0.1:${ports.report}`,
    '--report-advertise-address=127.0.0.1',
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.secure}`,
    `--node-monitor-period=${shortened.nodeMonitorPeriod}`,
    `--member-drain-time=${shortened.memberDrainTime}`,
    '--controllers=*,nodeipam',
    '--allocate-node-cidrs',
    `--cluster-cidr=${files.podRange}`,
    '--node-cidr-mask-size=24',
  ];
}

/** How a server of Nova knows its machine: the SMBIOS UUID is its id. */
async function writeFirmware(root: string, id: string): Promise<void> {
  const dmi = join(root, 'sys/class/dmi/id');
  await mkdir(dmi, { recursive: true });
  const files = { sys_vendor: 'OpenStack Foundation', product_name: 'OpenStack Nova', product_uuid: id };
  for (const [name, text] of Object.entries(files)) await writeFile(join(dmi, name), `${text}\n`);
  await mkdir(join(root, 'proc/sys/kernel/random'), { recursive: true });
  await writeFile(join(root, 'proc/sys/kernel/random/boot_id'), `${id}\n`);
}

export async function lastLines(file: string, count = 15): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
