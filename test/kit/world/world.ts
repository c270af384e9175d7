import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../../common/process/clock.ts';
import { names } from '../../../common/well-known.ts';
import type { SimulatedInstance } from '../cloud/instance.ts';
import { type RunningCloud, startCloud } from '../cloud/start-cloud.ts';
import { type DataPlane, startDataPlane } from '../data-plane/data-plane.ts';
import { mountConfigMap } from './agent-pod.ts';
import { createAgents, type SandboxAgents } from './agents.ts';
import { createKubeRest, type KubeRest } from './kube-rest.ts';
import { createKubelet, type Kubelet, type KubeletOptions } from './kubelet.ts';
import { applyManifests, serviceAccountToken } from './manifests.ts';
import { startNodeMonitor } from './node-monitor.ts';
import { type StartProgram, startFromSources } from './programs.ts';
import { type Replica, startReplica } from './replica.ts';
import { shortened } from './shortened.ts';

/** The API server the world is built around: embedded or real. */
export interface WorldApi {
  readonly url: string;
  readonly caPem: string;
  readonly adminToken: string;
  nodeToken(name: string): string;
  kubeconfig(token?: string): string;
}

export interface WorldOptions {
  readonly api: WorldApi;
  readonly nodes: number;
  readonly cloudLatencyMs: number;
  /** Agents that are processes of their own; the others run inside this one. */
  readonly agentProcesses: number;
  /** The controllers are started by `startControllers`, after everything else is up and waits for them. */
  readonly controllersLater?: boolean;
  /** The controllers get no cloud configuration: proved reports are all they have. */
  readonly reportOnly?: boolean;
  /** The controllers initialise no Node without a signed document of its VM. */
  readonly requireAttestation?: boolean;
  /** Of the controllers, beside those of every world. */
  readonly controllerFlags?: readonly string[];
  /** Default: from the sources. */
  readonly startProgram?: StartProgram;
  /** Says what is being done; lines for people. */
  say(line: string): void;
  /** The API server can be used with this kubeconfig from here on. */
  onKubeconfig?(path: string, cloudUrl: string): void;
}

/** A whole cluster on one machine: API server, cloud, kubelets, two controllers and an agent on every node. */
export interface World {
  readonly folder: string;
  readonly rest: KubeRest;
  readonly cloud: RunningCloud;
  /** What carries traffic to Services. */
  readonly dataPlane: DataPlane;
  readonly replicas: Replica[];
  readonly vms: readonly SimulatedInstance[];
  readonly kubelets: ReadonlyMap<string, Kubelet>;
  readonly agents: SandboxAgents;
  nodeToken(name: string): string;
  startControllers(): Promise<void>;
  /** Kubeconfig of the administrator. */
  readonly kubeconfig: string;
  /** Boots one more VM, its kubelet and its agent. @param changes what its kubelet does otherwise */
  boot(name: string, changes?: Pick<KubeletOptions, 'podCIDRs' | 'annotations'>): Promise<SimulatedInstance>;
  /** The VM loses power: kubelet and agent fall silent without a word. */
  powerLoss(name: string): Promise<void>;
  /** The VM shuts down in order: the agent takes its leave. */
  shutDown(name: string): Promise<void>;
  /** The replica that holds the Lease; undefined when none does. */
  leader(): Promise<Replica | undefined>;
  stop(): Promise<void>;
}

export async function startWorld(options: WorldOptions): Promise<World> {
  const { api, say, startProgram = startFromSources } = options;
  const folder = await mkdtemp(join(tmpdir(), 'mooring-sandbox-'));
  const rest = createKubeRest(api);
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, api.kubeconfig(), { mode: 0o600 });

  const clock = systemClock();
  const cloudClock: Clock = { ...clock, now: () => clock.now() - shortened.cloudLagMs };
  const cloud = await startCloud({ clock: cloudClock, random: Math.random });
  if (options.cloudLatencyMs > 0)
    cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: options.cloudLatencyMs } });
  say(`cloud ${cloud.url}, metadata ${cloud.metadataBase}, Kubernetes API ${api.url}`);

  await applyManifests(rest);
  options.onKubeconfig?.(kubeconfig, cloud.url);
  const controllerConfig = await writeControllerFiles(folder, rest, api, cloud);
  const replicas: Replica[] = [];
  async function startControllers(): Promise<void> {
    const { kubeconfig: access, cloudConfig, identityKey } = controllerConfig;
    const config = {
      folder,
      start: startProgram,
      kubeconfig: access,
      token: api.adminToken,
      identityKey,
      requireAttestation: options.requireAttestation === true,
      network: options.reportOnly !== true,
      ...(options.controllerFlags && { flags: options.controllerFlags }),
      ...(options.reportOnly ? {} : { cloudConfig }),
    };
    for (const name of ['controller-1', 'controller-2']) replicas.push(await startReplica(name, config));
    for (const { name, child, reportUrl } of replicas) say(`${name}: process ${child.pid}, reports at ${reportUrl}`);
  }
  if (!options.controllersLater) await startControllers();

  const dataPlane = await startDataPlane({
    api,
    instances: cloud.model,
    loadBalancers: cloud.network.loadBalancers,
    random: Math.random,
  });
  const agents = createAgents({ rest, cloud, folder, processes: options.agentProcesses, startProgram });
  const mount = mountConfigMap(rest, () => agents.mounts(), 500);
  const kubelets = new Map<string, Kubelet>();
  const vms: SimulatedInstance[] = [];
  const monitor = startNodeMonitor(rest, shortened.monitorGraceMs, 1000);

  async function enter(vm: SimulatedInstance, changes: Partial<KubeletOptions> = {}): Promise<void> {
    const kubelet = createKubelet({
      rest,
      name: vm.name,
      token: api.nodeToken(vm.name),
      systemUuid: vm.smbiosUuid ?? '',
      leaseRenewMs: shortened.kubeletLeaseMs,
      ...changes,
    });
    kubelets.set(vm.name, kubelet);
    vms.push(vm);
    await kubelet.start();
    await agents.start(vm);
  }

  const created = cloud.model.createMany(options.nodes, { name: 'node', external: true });
  say(
    `${created.length} VMs boot; agents: ${Math.min(options.agentProcesses, created.length)} processes of their ` +
      `own, ${Math.max(0, created.length - options.agentProcesses)} inside this one`,
  );
  for (let from = 0; from < created.length; from += 50)
    await Promise.all(created.slice(from, from + 50).map((vm) => enter(vm)));

  function kubeletOf(name: string): Kubelet {
    const kubelet = kubelets.get(name);
    if (kubelet === undefined) throw new Error(`no VM ${name}`);
    return kubelet;
  }

  return {
    folder,
    rest,
    cloud,
    dataPlane,
    replicas,
    vms,
    kubelets,
    agents,
    nodeToken: (name) => api.nodeToken(name),
    startControllers,
    kubeconfig,
    async boot(name, changes) {
      const vm = cloud.model.create({ name, external: true });
      await enter(vm, changes);
      return vm;
    },
    async powerLoss(name) {
      kubeletOf(name).stop();
      await agents.kill(name);
    },
    async shutDown(name) {
      await agents.stop(name);
      kubeletOf(name).stop();
    },
    async leader() {
      const lease = await rest.call(
        'GET',
        `/apis/coordination.k8s.io/v1/namespaces/${names.namespace}/leases/${names.lease}`,
      );
      const url = lease.body?.spec?.holderIdentity
        ? lease.body.metadata.annotations?.['mooring.dev/report-url']
        : undefined;
      return replicas.find(({ reportUrl, child }) => reportUrl === url && child.running);
    },
    async stop() {
      mount.stop();
      for (const kubelet of kubelets.values()) kubelet.stop();
      // Nobody waits for a request that the API server does not answer.
      rest.close();
      await monitor.stop();
      await agents.stopAll();
      await Promise.all(replicas.map(({ child }) => child.stop()));
      await dataPlane.stop();
      await cloud.stop();
    },
  };
}

/** The controller's kubeconfig with the token of its own ServiceAccount, and its cloud configuration. */
async function writeControllerFiles(folder: string, rest: KubeRest, api: WorldApi, cloud: RunningCloud) {
  const place = [...cloud.model.places.values()][0];
  if (place === undefined) throw new Error('the simulated cloud has no region');
  const token = await serviceAccountToken(rest, { namespace: names.namespace, name: names.controller });
  const kubeconfig = join(folder, 'controller.kubeconfig');
  const cloudConfig = join(folder, 'cloud.yaml');
  await writeFile(kubeconfig, api.kubeconfig(token), { mode: 0o600 });
  await writeFile(join(folder, 'credential'), cloud.credential, { mode: 0o600 });
  await writeFile(
    cloudConfig,
    `endpoint: ${cloud.url}\nproject: ${place.project}\nregion: ${place.region}\ncredentialFile: ` +
      `${join(folder, 'credential')}\n`,
  );
  const identityKey = join(folder, 'identity-key.pem');
  await writeFile(identityKey, cloud.identityKey);
  return { kubeconfig, cloudConfig, identityKey };
}
