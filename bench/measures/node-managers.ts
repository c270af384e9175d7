import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { labels, names, taints } from '../../common/well-known.ts';
import { memoryEnvironment } from '../../scripts/image/build-images.ts';
import type { KubeObject } from '../../test/conformance/client.ts';
import type { RequestCount } from '../../test/kit/kube-api/request-counts.ts';
import { createAgentPod } from '../../test/kit/world/agent-pod.ts';
import { type Child, startProgram } from '../../test/kit/world/child.ts';
import type { KubeRest } from '../../test/kit/world/kube-rest.ts';
import { applyManifests } from '../../test/kit/world/manifests.ts';
import { agentNodeFlags } from '../agent-memory.ts';
import { type AzureMetadata, startAzureMetadata } from '../azure-metadata.ts';
import { createNodes } from '../bare-patches.ts';
import type { Contender } from '../contender.ts';
import { eachOf } from '../fleet.ts';
import { cpuSecondsOf, type MemoryFigures, medianMemory, memoryOf } from '../process-figures.ts';
import { startShippedController, writeRunFiles } from '../shipped-controller.ts';
import type { Leading, Stage } from '../stage.ts';
import { watchFor } from '../watch-for.ts';

/** Ours: an agent on each node and a controller. Theirs: Azure's cloud-node-manager on each node. */
export const nodeManagerNames = ['ours', 'theirs'] as const;
export type NodeManagerName = (typeof nodeManagerNames)[number];

export interface NodeManagersOptions {
  readonly name: NodeManagerName;
  readonly dist: string;
  /** cloud-node-manager. */
  readonly program: string;
  readonly nodes: number;
  /** How long requests are counted after everything is done; 0: not at all. */
  readonly idleMinutes: number;
  /** Of the API server so far. */
  requests(): Promise<readonly RequestCount[]>;
}

export interface NodeManagersResult {
  /** From the start of the first process, ours being the controller, to the last Node complete. */
  readonly completeMs: number;
  /** Of these, until the controller led and the files that agents mount were filled. */
  readonly ledMs: number | undefined;
  /** Processor time of a node's process until then, the mean. */
  readonly cpuSeconds: number;
  /** Of a node's process, medians. */
  readonly memory: MemoryFigures;
  readonly controllerMemory: MemoryFigures | undefined;
  readonly requestsPerMinute: ReadonlyMap<string, number>;
}

const settleMs = 30_000;
const patienceMs = 600_000;
const width = 16;

/** Our controller with Azure alone and no credential: what it writes, agents have reported. */
export function reportOnly(dist: string): Contender {
  const cloudFlags = ['--cloud-provider=azure'];
  return {
    name: 'report-only',
    start: (place) => startShippedController(dist, { ...place, credentials: false, cloudFlags }),
  };
}

interface NodeFields {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: { readonly providerID?: string; readonly taints?: readonly { readonly key: string }[] };
  readonly status?: { readonly addresses?: readonly { readonly type: string }[] };
}

/** Whether a Node has everything that a cloud gives it. */
function isComplete(object: KubeObject): boolean {
  const { metadata, spec, status } = object as NodeFields;
  return (
    spec?.providerID !== undefined &&
    !spec.taints?.some(({ key }) => key === taints.uninitialized) &&
    [labels.instanceType, labels.zone, labels.region].every((label) => metadata.labels?.[label] !== undefined) &&
    (status?.addresses?.some(({ type }) => type === 'InternalIP') ?? false)
  );
}

/** As many real processes as nodes, all started at once on Nodes that are there already. */
export async function measureNodeManagers(stage: Stage, options: NodeManagersOptions): Promise<NodeManagersResult> {
  const { name, nodes, idleMinutes, requests } = options;
  const vms = Array.from({ length: nodes }, (_, index) => `bench-${index}`);
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  const metadata = await startAzureMetadata(vms);
  const children: Child[] = [];
  // Each child that is to end with this process listens for its end.
  process.setMaxListeners(nodes + 20);
  const place: Place = { stage, options, vms, folder, metadata };
  try {
    await createNodes(
      stage.api,
      vms.map((vm) => ({ name: vm })),
      width,
    );
    const complete = await watchFor(stage.client, '/api/v1/nodes', isComplete);
    try {
      const prepared = name === 'ours' ? await prepareAgents(place) : await prepareTheirs(place);
      const startedAt = Date.now();
      const leader = name === 'ours' ? await leadAndMount(place) : undefined;
      const ledMs = leader && Date.now() - startedAt;
      for (const { vm, command, env } of prepared)
        children.push(startProgram(command, join(folder, `${vm}.log`), { PATH: process.env['PATH'], ...env }));
      const completeMs = (await complete.reached(nodes, patienceMs)) - startedAt;
      const spent = await Promise.all(children.map(({ pid }) => cpuSecondsOf(pid)));
      await sleep(settleMs);
      await allRun(children);
      return {
        completeMs,
        ledMs,
        cpuSeconds: spent.reduce((sum, each) => sum + each, 0) / nodes,
        memory: medianMemory(await Promise.all(children.map(({ pid }) => memoryOf(pid)))),
        controllerMemory: leader && (await memoryOf(leader.pid)),
        requestsPerMinute: await requestsOf(name, requests, idleMinutes),
      };
    } finally {
      complete.stop();
    }
  } finally {
    await Promise.all(children.map((child) => child.kill()));
    await eachOf(vms, width, (vm) =>
      stage.rest.call('DELETE', `${pods}/${names.agent}-${vm}?gracePeriodSeconds=0`).then(() => undefined),
    );
    await metadata.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const pods = `/api/v1/namespaces/${names.namespace}/pods`;

interface Place {
  readonly stage: Stage;
  readonly options: NodeManagersOptions;
  readonly vms: readonly string[];
  readonly folder: string;
  readonly metadata: AzureMetadata;
}

interface PreparedProcess {
  readonly vm: string;
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Their pods and tokens, and the command line of deploy/. */
async function prepareAgents({ stage, options, vms, folder, metadata }: Place): Promise<PreparedProcess[]> {
  await applyManifests(stage.rest);
  const prepared: PreparedProcess[] = [];
  await eachOf(vms, width, async (vm) => {
    const { tokenFile } = await createAgentPod(stage.rest, vm, join(folder, vm));
    const command = [
      process.execPath,
      ...agentNodeFlags,
      join(options.dist, 'agent.cjs'),
      'run',
      '--cloud=azure',
      `--metadata-url=${metadata.urlOf(vm)}`,
      `--token-file=${tokenFile}`,
      `--ca-file=${join(folder, names.caKey)}`,
      `--controller-url-file=${join(folder, names.controllerUrlsKey)}`,
      '--health-address=127.0.0.1:0',
    ];
    prepared.push({ vm, command, env: { NODE_NAME: vm, ...memoryEnvironment } });
  });
  return prepared;
}

/** Starts the controller, and fills the files that kubelets mount for agents. */
async function leadAndMount({ stage, folder }: Place): Promise<Leading> {
  const leader = await stage.lead(['--configure-cloud-routes=false']);
  const data = await publishedData(stage.rest);
  for (const key of [names.caKey, names.controllerUrlsKey]) await writeFile(join(folder, key), data[key]!);
  return leader;
}

async function publishedData(rest: KubeRest): Promise<Readonly<Record<string, string>>> {
  const path = `/api/v1/namespaces/${names.namespace}/configmaps/${names.certificates}`;
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(20)) {
    const data = (await rest.call('GET', path)).body?.data ?? {};
    if (data[names.caKey] && data[names.controllerUrlsKey]) return data;
  }
  throw new Error(`no CA and no URL in ${path} after a minute`);
}

/** The command line of its chart. */
async function prepareTheirs({ stage: { api, cloud }, options, vms, folder, metadata }: Place) {
  const { kubeconfig } = await writeRunFiles({ api, cloud, credentials: false, folder });
  return vms.map((vm): PreparedProcess => {
    const command = [options.program, `--node-name=${vm}`, `--kubeconfig=${kubeconfig}`, '--v=2'];
    return { vm, command, env: { NODE_NAME: vm, HTTP_PROXY: metadata.proxyOf(vm) } };
  });
}

async function allRun(children: readonly Child[]): Promise<void> {
  const ended = children.filter(({ running }) => !running);
  if (ended[0] === undefined) return;
  const log = (await readFile(ended[0].logFile, 'utf8')).slice(-2000);
  throw new Error(`${ended.length} of ${children.length} processes have ended, the first log ends in:\n${log}`);
}

async function requestsOf(
  name: NodeManagerName,
  requests: NodeManagersOptions['requests'],
  minutes: number,
): Promise<ReadonlyMap<string, number>> {
  if (minutes === 0) return new Map();
  const program = name === 'ours' ? 'mooring-controller' : 'cloud-node-manager';
  const counted = async () => {
    const own = (await requests()).filter(({ userAgent }) => userAgent === program);
    return new Map(own.map(({ verb, resource, count }) => [`${verb} ${resource}`, count]));
  };
  const before = await counted();
  await sleep(minutes * 60_000);
  const made = [...(await counted())].map(([what, count]) => [what, count - (before.get(what) ?? 0)] as const);
  return new Map(made.filter(([, count]) => count > 0).map(([what, count]) => [what, count / minutes]));
}
