import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../common/process/clock.ts';
import { parseFlags } from '../common/process/flags.ts';
import { createLog } from '../common/process/log.ts';
import { seededRandom } from '../common/process/random.ts';
import { taints } from '../common/well-known.ts';
import { readRunOptions } from '../controller/app/options/run-options.ts';
import { runController } from '../controller/app/run.ts';
import { runCommandFlags } from '../controller/commands/run-command.ts';
import { shippedObjectsIn } from '../controller/kube/shipped-objects.ts';
import { type RunningCloud, startCloud } from '../test/kit/cloud/start-cloud.ts';
import { freePort } from '../test/kit/free-ports.ts';
import { admin } from '../test/kit/kube-api/auth/user.ts';
import { type KubeApiServer, startKubeApi } from '../test/kit/kube-api/start-kube-api.ts';
import { shipObject } from '../test/nodes/harness/shipped-objects.ts';
import { freshNode } from './bare-patches.ts';
import { type CallsMade, countCalls } from './calls-made.ts';
import { isInitialised } from './measures/node-joins.ts';
import { hasAddress } from './measures/services.ts';
import { runFlags, writeRunFiles } from './shipped-controller.ts';
import { simulatedTime } from './simulated-time.ts';
import { loadBalancerService, servicesPath } from './stage.ts';

export interface IdleHourOptions {
  readonly nodes: number;
  readonly services: number;
  /** Of simulated time. */
  readonly minutes: number;
  /** Nodes that are replaced in that time, evenly: a new one joins, and a minute later its predecessor is scaled in. */
  readonly replaced?: number;
}

export interface IdleHourResult {
  readonly calls: CallsMade;
  /** Of the controller, by verb and resource, a minute; most first. */
  readonly apiRequests: readonly { readonly what: string; readonly perMinute: number }[];
  /** Log lines at warning level or above in the time that was counted. */
  readonly complaints: readonly string[];
  /** Ten minutes later: what is not as desired. */
  readonly left: {
    readonly surplusNodes: number;
    readonly uninitialized: number;
    readonly surplusRoutes: number;
    readonly missingRoutes: number;
    /** Load balancers that do not have exactly the instances of all Nodes. */
    readonly loadBalancers: number;
  };
  /** Of all: controller, API server, cloud and bench. */
  readonly cpuSeconds: number;
}

const settleMs = 15 * 60_000;
const patienceMs = 60 * 60_000;
const stepMs = 10_000;
/** How often a kubelet patches the status of its Node when nothing changes. */
const heartbeatMs = 300_000;
/** A node that is replaced: to its mark, from there to the end of its VM, from there to NotReady. */
const overlapMs = 60_000;
const drainMs = 45_000;
const silentMs = 50_000;

/**
 * A leader with Services and routes while nothing changes, on simulated time: the controller's `run`, with sockets, in
 * this process.
 */
export async function measureIdleHour(
  { nodes, services, minutes, replaced = 0 }: IdleHourOptions,
  progress: (line: string) => void,
): Promise<IdleHourResult> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-bench-'));
  let api: KubeApiServer | undefined;
  let cloud: RunningCloud | undefined;
  let lines = 0;
  const time = simulatedTime(() => lines + (api?.core.requests.total() ?? 0) + (cloud?.calls.total() ?? 0));
  const { clock } = time;
  api = await startKubeApi({ clock, random: seededRandom(1), historyLimit: 100_000 });
  cloud = await startCloud({
    clock,
    random: seededRandom(2),
    loadBalancerTimings: { provisioningMs: 0, deletingMs: 0 },
  });
  const stop = new AbortController();
  let complaints: string[] = [];
  try {
    for (const object of Object.values(shippedObjectsIn('kube-system'))) shipObject(api.core, object);
    const fleet = createObjects(api, cloud, { nodes, services });
    const files = await writeRunFiles({ api, cloud, credentials: true, folder });
    const flags = parseFlags(runCommandFlags, [
      ...runFlags(files),
      `--report-address=127.0.0.1:${await freePort()}`,
      '--report-advertise-address=127.0.0.1',
      '--secure-port=0',
      '--cluster-cidr=10.64.0.0/10',
    ]);
    if (!flags.ok) throw new Error(flags.message);
    const log = createLog({
      clock,
      level: 'info',
      format: 'json',
      write(line) {
        lines += 1;
        if (/"level":"(warn|error)"/.test(line)) complaints.push(line.trim());
      },
    });
    const running = runController(await readRunOptions(flags.values), {
      clock,
      random: seededRandom(3),
      log,
      env: {},
      stop: stop.signal,
    });
    let failure: unknown;
    running.catch((error: unknown) => {
      failure = error;
    });

    progress('waiting until everything is as desired');
    while (!settled(api, cloud, { nodes, services })) {
      if (failure !== undefined) throw failure;
      if (clock.monotonic() > patienceMs) throw new Error(`not as desired; ${complaints.slice(-3).join('\n')}`);
      await time.pass(1000);
    }
    const beats = heartbeats(api, clock, fleet);
    const replace = replacements(api, cloud, clock, fleet);
    await idle(settleMs, 0);

    progress('counting');
    complaints = [];
    const calls = countCalls(cloud.calls);
    const before = controllerRequests(api);
    const cpu = process.cpuUsage();
    await idle(minutes * 60_000, replaced / (minutes * 60_000));
    const { user, system } = process.cpuUsage(cpu);
    const after = controllerRequests(api);
    const made = calls();
    if (replaced > 0) await idle(10 * 60_000, 0);
    const result = {
      cpuSeconds: (user + system) / 1e6,
      left: leftOver(api, cloud, fleet),
      calls: made,
      apiRequests: [...after]
        .map(([what, count]) => ({ what, perMinute: (count - (before.get(what) ?? 0)) / minutes }))
        .filter(({ perMinute }) => perMinute > 0)
        .sort((a, b) => b.perMinute - a.perMinute),
      complaints,
    };
    stop.abort();
    let stopped = false;
    void running.finally(() => {
      stopped = true;
    });
    while (!stopped) await time.pass(100);
    await running;
    return result;

    async function idle(ms: number, replacedPerMs: number): Promise<void> {
      for (let passed = 0; passed < ms; passed += stepMs) {
        beats(stepMs);
        replace(stepMs * replacedPerMs);
        await time.pass(stepMs);
      }
    }
  } finally {
    stop.abort();
    await cloud.stop();
    await api.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

function ask({ core }: KubeApiServer, method: string, path: string, body: object, type = 'application/json'): void {
  const answer = core.handle({
    method,
    path,
    query: new URLSearchParams(),
    headers: { accept: 'application/json', 'content-type': type, 'user-agent': 'bench' },
    body: JSON.stringify(body),
    user: admin,
  });
  if ('watch' in answer && answer.watch !== undefined) throw new Error(`${method} ${path}: a watch`);
  if ('status' in answer && answer.status > 299) throw new Error(`${method} ${path}: ${answer.status} ${answer.body}`);
}

interface Machine {
  readonly id: string;
  readonly name: string;
}

/** A Node with a range of pod addresses. */
function register(api: KubeApiServer, machine: Machine, at: number): void {
  const range = `10.${64 + (at >> 8)}.${at & 255}.0/24`;
  const node = freshNode(machine, { images: 1 });
  ask(api, 'POST', '/api/v1/nodes', { ...node, spec: { ...node.spec, podCIDR: range, podCIDRs: [range] } });
}

function createObjects(
  api: KubeApiServer,
  cloud: RunningCloud,
  { nodes, services }: Pick<IdleHourOptions, 'nodes' | 'services'>,
): Machine[] {
  const machines = cloud.model.createMany(nodes, { name: 'bench' });
  for (const [at, machine] of machines.entries()) register(api, machine, at);
  for (let at = 0; at < services; at += 1) ask(api, 'POST', servicesPath, loadBalancerService(`bench-${at}`));
  return machines;
}

/** @returns what replaces so many of the oldest Nodes; those that are scaled in leave the fleet */
function replacements(
  api: KubeApiServer,
  cloud: RunningCloud,
  clock: Clock,
  fleet: Machine[],
): (count: number) => void {
  const strategic = 'application/strategic-merge-patch+json';
  let serial = fleet.length;
  let due = 0;

  function scaleIn({ id, name }: Machine): void {
    const mark = { key: taints.toBeDeletedByAutoscaler, value: '1', effect: 'NoSchedule' };
    ask(api, 'PATCH', `/api/v1/nodes/${name}`, { spec: { taints: [mark] } }, strategic);
    clock.setTimer(drainMs, () => {
      cloud.model.terminate(id);
      clock.setTimer(silentMs, () => {
        // The node lifecycle controller marks it, unless it was deleted before.
        if (!api.core.store.collection('nodes').items.has(name)) return;
        const ready = { type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' };
        ask(api, 'PATCH', `/api/v1/nodes/${name}/status`, { status: { conditions: [ready] } }, strategic);
      });
    });
  }

  return (count) => {
    for (due += count; due >= 1; due -= 1) {
      const next = cloud.model.create({ name: `next-${serial}` });
      register(api, next, serial);
      serial += 1;
      const [old] = fleet.splice(0, 1);
      fleet.push(next);
      clock.setTimer(overlapMs, () => scaleIn(old as Machine));
    }
  };
}

function leftOver(api: KubeApiServer, cloud: RunningCloud, fleet: readonly Machine[]): IdleHourResult['left'] {
  const nodes = [...api.core.store.collection('nodes').items.values()].map(({ value }) => value as never);
  const ids = new Set(fleet.map(({ id }) => id));
  const routes = cloud.network.routes.store.all();
  const isExact = (members: readonly { readonly instanceId: string }[]) =>
    members.length === ids.size && members.every(({ instanceId }) => ids.has(instanceId));
  return {
    surplusNodes: nodes.length - fleet.length,
    uninitialized: nodes.filter((node) => !isInitialised(node)).length,
    surplusRoutes: routes.filter(({ instanceId }) => !ids.has(instanceId)).length,
    missingRoutes: fleet.length - routes.filter(({ instanceId }) => ids.has(instanceId)).length,
    loadBalancers: cloud.network.loadBalancers.store
      .all()
      .filter(({ pools }) => !pools.every(({ members }) => isExact(members))).length,
  };
}

function settled(
  api: KubeApiServer,
  cloud: RunningCloud,
  { nodes, services }: Pick<IdleHourOptions, 'nodes' | 'services'>,
): boolean {
  const objectsOf = (plural: string) =>
    [...api.core.store.collection(plural).items.values()].map(({ value }) => value as never);
  return (
    cloud.network.routes.store.all().length >= nodes &&
    objectsOf('services').filter(hasAddress).length >= services &&
    objectsOf('nodes').every(isInitialised)
  );
}

/** @returns what sends the heartbeats of so many milliseconds, evenly */
function heartbeats(api: KubeApiServer, clock: Clock, fleet: readonly Machine[]): (ms: number) => void {
  let due = 0;
  let next = 0;
  return (ms) => {
    for (due += (fleet.length * ms) / heartbeatMs; due >= 1; due -= 1) {
      const now = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z');
      const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: now };
      const path = `/api/v1/nodes/${fleet[next]?.name}/status`;
      ask(api, 'PATCH', path, { status: { conditions: [ready] } }, 'application/strategic-merge-patch+json');
      next = (next + 1) % fleet.length;
    }
  };
}

function controllerRequests({ core }: KubeApiServer): Map<string, number> {
  const counts = core.requests.list().filter(({ userAgent }) => userAgent === 'mooring-controller');
  return new Map(counts.map(({ verb, resource, count }) => [`${verb} ${resource}`, count]));
}
