import type { Clock } from '../../../common/process/clock.ts';
import { type Log, silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry } from '../../../common/process/metrics.ts';
import { names } from '../../../common/well-known.ts';
import { createProcessMetrics } from '../../../controller/app/process-metrics.ts';
import { createReplica, type ReplicaOptions, type ReplicaParts } from '../../../controller/app/replica.ts';
import { createChangeRecord } from '../../../controller/dry-run/change-record.ts';
import { createDryRun } from '../../../controller/dry-run/dry-run.ts';
import { makePlan } from '../../../controller/dry-run/make-plan.ts';
import type { Plan } from '../../../controller/dry-run/planned-change.ts';
import { createSkippingClock } from '../../../controller/dry-run/skipping-clock.ts';
import type { ReportStore, StoredReport } from '../../../controller/reports/store.ts';
import { honestReport } from '../actors/machine-report.ts';
import { createDice } from '../engine/dice.ts';
import { openCloud, replicaOptions, traceLog } from '../engine/process.ts';
import { pass } from '../pass-time.ts';
import { kubeWire } from '../wires/kube-wire.ts';
import type { Wire } from '../wires/wire.ts';
import { createWorld, type World } from '../world.ts';
import { createDeeds, keyOf } from './deeds.ts';

export interface Comparison {
  readonly seed: number;
  /** By key. */
  readonly planned: readonly string[];
  /** Done within the time that the plan looked ahead, and not planned. */
  readonly unplanned: readonly string[];
  /** Planned, and not done. */
  readonly undone: readonly string[];
  /** Told by a dry run within that time, and not planned; and the other way round. */
  readonly untold: { readonly byPlan: readonly string[]; readonly byDryRun: readonly string[] };
  /** Mutating calls while the plan was made, and of the dry run. */
  readonly writes: readonly string[];
  readonly plan: Plan;
}

type Heard = Pick<StoredReport, 'nodeName' | 'nodeUid' | 'report'>;

/** Between the agents' end and the plan. */
const agentsSilentMs = 30_000;
const registeringMs = 15_000;
/** VMs and load balancers are no longer on their way, and whoever is not heard counts as silent. */
const settleMs = 130_000;
const aheadMs = 600_000;
/** What a plan takes as done at once takes the cloud and the API server some time. */
const lateMs = 120_000;

/**
 * Lets things happen, stops everybody, plans, and lets the controller do what it does: nothing may be done that was not
 * planned, and nothing planned that is not done. In a second world, the same up to there, a dry run tells the same.
 */
export async function compareSeed(seed: number, trace?: (line: string) => void): Promise<Comparison> {
  const writes: string[] = [];
  const { world, heard, alone } = await readyWorld(seed, writes, trace);
  trace?.('the plan is made');
  const plan = await planned(world, world.fleet.wireOf('plan'), alone, heard);
  trace?.(`planned: ${JSON.stringify(plan, undefined, 1)}`);
  const { deeds, begunMs } = await carriedOut(world, world.fleet.wireOf('deed'), alone, heard);
  world.end();
  const told = await toldByDryRun(seed, writes);

  const latestMs = new Map<string, number>();
  for (const change of plan.changes)
    if (change.action !== 'hold')
      latestMs.set(keyOf(change), Math.min(change.inMs ?? 0, latestMs.get(keyOf(change)) ?? Infinity));
  const { done, tried, refused } = deeds;
  // What is created is created with everything in it, or changed right afterwards.
  const isPart = (key: string, keys: { has(key: string): boolean }) =>
    ['$1', 'load balancer'].some((resource) => keys.has(key.replace(/update \| (.*)/, `create | ${resource}`)));
  // Who of several is deleted first is a matter of chance; the others show that they wait for the budget.
  const isOver = (key: string, keys: { has(key: string): boolean }) => keys.has(key.replace('| update', '| delete'));
  const mayFollow = (key: string) =>
    isPart(key, latestMs) || isOver(key, latestMs) || refused.has(key.split(' | ')[1] ?? '');
  const wasDone = (key: string) => done.has(key) || tried.has(key) || isPart(key, done) || isOver(key, done);
  const wasTold = (key: string) => told.has(key) || isPart(key, told) || isOver(key, told);
  const isSoon = (ms: number) => ms < aheadMs - lateMs;
  const soonPlanned = [...latestMs].flatMap(([key, inMs]) => (isSoon(inMs) ? [key] : []));
  const soonOf = (all: ReadonlyMap<string, number>, sinceMs: number) =>
    [...all].flatMap(([key, atMs]) => (isSoon(atMs - sinceMs) ? [key] : []));
  const isPlanned = (key: string) => latestMs.has(key) || mayFollow(key);
  return {
    seed,
    writes,
    plan,
    planned: [...latestMs.keys()],
    unplanned: soonOf(done, begunMs).filter((key) => !isPlanned(key)),
    undone: soonPlanned.filter((key) => !wasDone(key)),
    untold: {
      byPlan: soonOf(told, 0).filter((key) => !isPlanned(key)),
      byDryRun: soonPlanned.filter((key) => !wasTold(key)),
    },
  };
}

/** A world that has come to the moment of the plan. */
async function readyWorld(seed: number, writes: string[], trace?: (line: string) => void) {
  const world = createWorld(seed, trace);
  await stir(world, createDice(seed, 'before the plan'));
  const heard = hear(world);
  const options = { ...replicaOptions(world.scenario, 'planned'), reportUrl: '' };
  const alone: ReplicaOptions = { ...options, lease: { ...options.lease, elect: false } };
  const isDry = (identity: string) => identity === 'plan' || identity === 'dry run';
  world.observers.push({
    kubeSent: ({ identity }, { verb, path }) => void (isDry(identity) && writes.push(`${verb} ${path}`)),
    cloudSent: ({ identity }, operation, mutating) => void (isDry(identity) && mutating && writes.push(operation)),
  });
  return { world, heard, alone };
}

/** What the agents say last, before they fall silent. */
function hear({ truth, machines }: World): readonly Heard[] {
  return machines.all.flatMap((machine) => {
    const { name: nodeName, nodeUid, agentless, kubeletUp } = machine;
    if (nodeUid === undefined || agentless || !kubeletUp || !machines.running(machine)) return [];
    const report = honestReport(truth, machine);
    return report === undefined ? [] : [{ nodeName, nodeUid, report }];
  });
}

function tell(store: ReportStore, heard: readonly Heard[], clock: Clock): void {
  const times = { receivedAtMs: clock.now() - agentsSilentMs, receivedMonotonicMs: clock.monotonic() - agentsSilentMs };
  for (const each of heard) store.adopt({ ...each, ...times });
}

/** Up to the moment at which everybody stops: a new cluster, or one that a controller has left behind. */
async function stir(world: World, dice: ReturnType<typeof createDice>): Promise<void> {
  const { scenario, fleet, services, people, vms, truth, machines, agents, say } = world;
  world.populate();
  await pass(world, registeringMs);
  world.stampTruly();
  for (let index = 0; index < scenario.services; index += 1) services.create(`s${index}`);
  const act = () => {
    const drawn = dice.random();
    const what = drawn < 0.35 ? vms.act() : drawn < 0.5 ? people.act() : services.act();
    say?.(`world  ${what}`);
  };
  if (dice.chance(0.75)) {
    fleet.start();
    await pass(world, dice.between(20_000, 120_000));
    // The controller is stopped in the middle of its work, or after it.
    for (let acts = dice.whole(0, 2); acts > 0; acts -= 1) act();
    await pass(world, dice.pick([0, 1000, 60_000]));
  }
  fleet.end();
  for (let acts = dice.whole(0, 8); acts > 0; acts -= 1) {
    act();
    await pass(world, dice.between(100, 5000));
  }
  await pass(world, settleMs);
  if (truth.allPausedSince !== undefined) people.pauseAll();
  machines.stop();
  agents.stop();
  await pass(world, agentsSilentMs);
}

async function planned(world: World, wire: Wire, options: ReplicaOptions, heard: readonly Heard[]): Promise<Plan> {
  const { scenario, cloud, timeline } = world;
  const { clock } = wire;
  const ahead = createSkippingClock(clock);
  const log = logOf(wire);
  return makePlan({
    namespace: names.namespace,
    api: kubeWire(wire),
    clock,
    ahead,
    random: wire.dice.random,
    log,
    options,
    aheadMs,
    clouds: scenario.clouds.map((spec) => openCloud(wire, cloud, spec, { log, planningClock: ahead })),
    pageSize: scenario.pageSize,
    say() {},
    listening: {
      readReports: async (store, now) => tell(store, heard, now),
      forMs: 0,
      signal: new AbortController().signal,
    },
    async rest(calls) {
      if (calls > 0) await timeline.step(world.clock.monotonic() + 1000);
      else await new Promise((resolve) => setImmediate(resolve));
    },
  });
}

/** What `run --dry-run` tells that it would change, by key, and milliseconds after its begin, the first time. */
async function toldByDryRun(seed: number, writes: string[]): Promise<ReadonlyMap<string, number>> {
  const { world, heard, alone } = await readyWorld(seed, writes);
  const wire = world.fleet.wireOf('dry run');
  const told = new Map<string, number>();
  const begunMs = world.clock.monotonic();
  const record = createChangeRecord({
    onChange(change) {
      if (change.action === 'hold' || told.has(keyOf(change))) return;
      told.set(keyOf(change), world.clock.monotonic() - begunMs);
    },
  });
  const configured = world.scenario.clouds.map((spec) => openCloud(wire, world.cloud, spec, {}));
  const { api, clouds } = createDryRun({ api: kubeWire(wire), clouds: configured, record });
  await runAlone(world, wire, { api, clouds }, alone, heard);
  world.end();
  return told;
}

async function carriedOut(world: World, wire: Wire, options: ReplicaOptions, heard: readonly Heard[]) {
  const deeds = createDeeds(wire.process.identity, () => world.clock.monotonic());
  world.observers.push(deeds.observer);
  const log = logOf(wire);
  const clouds = world.scenario.clouds.map((spec) => deeds.follow(openCloud(wire, world.cloud, spec, { log })));
  const begunMs = world.clock.monotonic();
  await runAlone(world, wire, { api: kubeWire(wire), clouds }, options, heard);
  return { deeds, begunMs };
}

/** Lets a controller run as long as the plan looked ahead, and what is late. */
async function runAlone(
  world: World,
  wire: Wire,
  { api, clouds }: Pick<ReplicaParts, 'api' | 'clouds'>,
  options: ReplicaOptions,
  heard: readonly Heard[],
): Promise<void> {
  const { identity } = wire.process;
  const registry = createMetricRegistry();
  const replica = createReplica(
    {
      api,
      clouds,
      clock: wire.clock,
      random: wire.dice.random,
      log: logOf(wire),
      registry,
      identity,
      metrics: createProcessMetrics(registry),
      host: identity,
      pageSize: world.scenario.pageSize,
      onStartedLeading() {},
    },
    options,
  );
  tell(replica.context.reports, heard, wire.clock);
  const stopping = new AbortController();
  const running = replica.run(stopping.signal);
  await passAll(world, aheadMs + lateMs);
  stopping.abort();
  running.catch(() => {});
}

const logOf = ({ trace, ...wire }: Wire): Log =>
  trace === undefined ? silentLog : traceLog({ ...wire, trace }, trace);

/** Also where the judges find a promise broken: nobody reports here. */
async function passAll({ clock, timeline }: World, ms: number): Promise<void> {
  const untilMs = clock.monotonic() + ms;
  while (await timeline.step(untilMs));
}
