import { quotaKinds } from '../kit/cloud/quotas.ts';
import type { Machine } from './actors/machines.ts';
import { createDice } from './engine/dice.ts';
import { inMotion, silentWaits, unmetNodes } from './judge/desired.ts';
import { orphans, silentServices, unmetNetwork } from './judge/desired-network.ts';
import { nodeOf } from './judge/node-object.ts';
import type { Broken } from './judge/observer.ts';
import { createWorld, type World } from './world.ts';

export interface SeedResult {
  readonly seed: number;
  /** The first promise that was broken; undefined when all held. */
  readonly broken: Broken | undefined;
  /** Simulated seconds. */
  readonly seconds: number;
  /** How long it took after the last fault until everything was as desired, simulated seconds. */
  readonly convergedIn: number;
  /** `site\tkind` -> how often. */
  readonly counts: ReadonlyMap<string, number>;
}

const registeringMs = 15_000;
const settleMs = 45_000;
/** Every agent has reported since, and a list that got no answer has run out. */
const leastCalmMs = 65_000;
/** Longest back-offs, a lease that has to run out, five minutes between two absences, and a budget that lets one Node go at a time. */
const convergenceMs = 1_800_000;
const checkMs = 5000;
const restartMs = 40_000;
/** Until what was made last counts as an orphan, and a sweep after that. */
const youngMs = 750_000;
const dayMs = 86_400_000;
/** A leader's own ten minutes of sight, and a budget that lets one go at a time. */
const sweepMs = 1_800_000;
/** Longer than two absences without a canary, and than a Node takes to be called unreachable. */
const blackoutMs = 720_000;
/** How often the world does what makes the call that a seed aims at. */
const provokeMs = 12_000;

/** Lives through one seed: some calm, then faults, then calm again until the world is as desired, then a change of leader that changes nothing. */
export async function runSeed(seed: number, trace?: (line: string) => void): Promise<SeedResult> {
  const world = createWorld(seed, trace);
  const { scenario, clock, fleet, services, truth, say } = world;
  const dice = createDice(seed, 'actions');

  world.populate();
  await pass(world, registeringMs);
  world.stampTruly();
  for (let index = 0; index < scenario.services; index += 1) services.create(`s${index}`);
  fleet.start();
  watchLoops(world);
  if (!scenario.earlyFaults) await pass(world, settleMs);

  clock.setTimer(scenario.chaosMs * 0.3, () => {
    const what = world.rogues.go();
    say?.(`world  ${what}`);
  });
  say?.('faults begin');
  beginFaults(world, dice);
  await pass(world, scenario.chaosMs);
  say?.('faults have stopped');
  endFaults(world, dice);

  const convergedIn = await converge(world);
  await pass(world, checkMs);
  if (world.broken === undefined && scenario.blackout) await blackout(world, dice);
  if (world.broken === undefined && scenario.deleteOrphans && orphans(truth).length > 0) await sweep(world);

  say?.('a change of leader, with nothing changed');
  if (world.broken === undefined) await changeLeader(world, dice.chance(0.5));
  const still = unmetNetwork(truth, scenario, services);
  if (world.broken === undefined && still.length > 0) world.breaks(4, `after a change of leader: ${still.join('; ')}`);
  world.end();
  return { seed, broken: world.broken, seconds: clock.monotonic() / 1000, convergedIn, counts: world.counts };
}

/** Lets time pass; ends early when a promise breaks or `done` says so. */
async function pass(world: World, ms: number, done: () => boolean = () => false): Promise<void> {
  const { clock, timeline, fleet } = world;
  const until = clock.monotonic() + ms;
  while (world.broken === undefined && !done() && (await timeline.step(until))) {
    const leaders = fleet.leaders();
    if (leaders.length > 1) world.breaks(6, `${leaders.map(({ identity }) => identity).join(' and ')} both lead`);
  }
}

function watchLoops(world: World): void {
  for (const { process } of world.fleet.places) {
    if (process === undefined || process.wire.clock.paused !== undefined) continue;
    const now = process.wire.clock.monotonic();
    for (const [loop, at] of process.progress()) {
      if (now - at > 120_000)
        world.breaks('liveness', `${loop} of ${process.identity} has not come round for ${Math.round(now - at)} ms`);
    }
  }
  if (!world.broken) world.clock.setTimer(10_000, () => watchLoops(world));
}

/** Calls go wrong, things happen in the world, and what the seed aims at is provoked. */
function beginFaults(world: World, dice: ReturnType<typeof createDice>): void {
  const { scenario, clock, fleet, people, services, vms, troubles, rates, aim, say } = world;
  Object.assign(rates, scenario.rates);
  const ends = clock.monotonic() + scenario.chaosMs;
  const act = () => {
    if (clock.monotonic() >= ends) return;
    const drawn = dice.random();
    const what = drawn < 0.3 ? vms.act() : drawn < 0.5 ? people.act() : drawn < 0.72 ? services.act() : troubles.act();
    say?.(`world  ${what}`);
    clock.setTimer(dice.wait(scenario.actionMeanMs), act);
  };
  clock.setTimer(dice.wait(scenario.actionMeanMs), act);
  aim.armed = true;
  say?.(`aims at ${aim.site}: ${aim.kinds.join(', ')}`);
  const provoke = () => {
    if (!aim.armed || aim.kinds.length === 0) return;
    const what = services.provoke(aim.site) ?? vms.provoke(aim.site) ?? people.provoke(aim.site);
    if (what !== undefined) say?.(`world  ${what}`);
    clock.setTimer(dice.between(0.5, 1.5) * provokeMs, provoke);
  };
  clock.setTimer(provokeMs / 4, provoke);
  if (!scenario.deaf) return;
  const [hearing] = fleet.places;
  // Who hears leads while Nodes change places; then one who has not heard of it.
  clock.setTimer(scenario.chaosMs * 0.3, () => {
    for (const place of fleet.places) if (place !== hearing) fleet.stop(place);
  });
  clock.setTimer(scenario.chaosMs * 0.6, () => {
    const what = people.shuffle();
    say?.(`world  ${what}`);
  });
  clock.setTimer(scenario.chaosMs * 0.6 + provokeMs, () => fleet.crash(hearing!));
}

function endFaults(world: World, dice: ReturnType<typeof createDice>): void {
  const { scenario, cloud, machines, fleet, people, services, rates, aim, say } = world;
  aim.armed = false;
  Object.assign(rates, { kube: 0, watch: 0, cloud: 0, report: 0 });
  cloud.credentials.setMode(cloud.credential, 'ok');
  for (const kind of quotaKinds) cloud.network.quotas.set(kind, undefined);
  fleet.calm();
  for (const machine of machines.all) {
    machine.kubeletHangs = false;
    machine.agentSilent = false;
    if (cloud.model.get(machine.vmId)?.power === 'stopped' && dice.chance(0.5)) cloud.model.start(machine.vmId);
  }
  people.unpause();
  services.unpause();
  services.mend();
  if (!scenario.orphan) return;
  for (const place of fleet.places) fleet.crash(place);
  const what = services.orphan();
  say?.(`world  ${what}`);
}

/** Lets time pass until everything is as desired. @returns after how many simulated seconds */
async function converge(world: World): Promise<number> {
  const { scenario, clock, truth, machines, fleet, people, breaks } = world;
  const calmFrom = clock.monotonic();
  /** What it says now may undo what it said before. */
  const isHeard = (machine: Machine) =>
    machine.agentless ||
    !machine.kubeletUp ||
    !machines.running(machine) ||
    machine.heardAt > Math.max(calmFrom, machine.upAt);
  let differs: string[] = [];
  while (world.broken === undefined && clock.monotonic() - calmFrom < convergenceMs) {
    await pass(world, checkMs);
    people.mend();
    differs = unmet(world, false);
    const still = !inMotion(truth, machines, scenario);
    const heard = clock.monotonic() - calmFrom > leastCalmMs && machines.all.every(isHeard);
    if (differs.length === 0 && still && heard && fleet.places.every(({ process }) => process !== undefined)) break;
  }
  const tookMs = clock.monotonic() - calmFrom;
  const unheard = machines.all.filter((machine) => !isHeard(machine));
  differs.push(...unheard.map(({ name }) => `nobody hears the agent of ${name}`));
  if (world.broken === undefined && differs.length > 0) breaks('convergence', differs.join('; '));
  const silent = [...silentWaits(truth, scenario), ...silentServices(truth)];
  if (silent.length > 0) breaks(12, `nothing says why ${silent.join(', ')} wait`);
  return tookMs / 1000;
}

function unmet({ truth, machines, scenario, services }: World, noOrphans: boolean): string[] {
  const left = noOrphans ? { stripped: new Set<string>(), kept: services.kept } : services;
  return [...unmetNodes(truth, machines, scenario), ...unmetNetwork(truth, scenario, left)];
}

/** A credential of another project, while no kubelet and no agent is heard: not one Node goes. Afterwards all is as before. */
async function blackout(world: World, dice: ReturnType<typeof createDice>): Promise<void> {
  const { cloud, machines, fleet, truth, say } = world;
  const silenced = machines.all.filter(({ kubeletHangs }) => !kubeletHangs);
  const silence = (on: boolean) => {
    truth.blackout = on;
    cloud.credentials.setMode(cloud.credential, on ? 'sees-nothing' : 'ok');
    for (const machine of silenced) Object.assign(machine, { kubeletHangs: on, agentSilent: on });
  };
  say?.('the credential sees nothing, and no kubelet is heard');
  silence(true);
  // One that has seen nothing with this credential, or one that has.
  if (dice.chance(0.5)) for (const place of fleet.places) fleet.crash(place);
  await pass(world, blackoutMs);
  say?.('the credential is right again, and the kubelets are heard');
  silence(false);
  if (world.broken === undefined) await converge(world);
}

/** What no Service accounts for is seen, and is still there a day later: it goes. */
async function sweep(world: World): Promise<void> {
  const { timeline, truth, cloud, fleet, people, say } = world;
  const isGoing = (id: string) => cloud.network.loadBalancers.store.get(id)?.state === 'deleting';
  say?.(`orphans: ${orphans(truth).join(', ')}`);
  await pass(world, youngMs);
  const seen = orphans(truth).length;
  say?.('a day goes by');
  fleet.frozen(() => timeline.leap(dayMs));
  // In the middle of a removal, between one call and the next.
  await pass(world, sweepMs, () => orphans(truth).length < seen || orphans(truth).some((id) => isGoing(id)));
  people.pauseAll();
  await pass(world, restartMs);
  people.pauseAll();
  await pass(world, sweepMs, () => orphans(truth).length === 0);
  await pass(world, leastCalmMs);
  await pass(world, convergenceMs, () => unmet(world, true).length === 0);
  const left = [...orphans(truth).map((id) => `orphan ${id} (of ${seen})`), ...unmet(world, true)];
  if (world.broken === undefined && left.length > 0) world.breaks('convergence', `a day later: ${left.join('; ')}`);
}

async function changeLeader(world: World, crashes: boolean): Promise<void> {
  const { truth, machines, fleet, quiet } = world;
  const place = fleet.places.find(({ process }) => process === fleet.leaders()[0]) ?? fleet.places[0]!;
  if (crashes) fleet.crash(place);
  else fleet.stop(place);
  const stoodFor = truth.nodes().flatMap((value) => /^simulated:.*\/(.+)$/.exec(nodeOf(value).providerID)?.[1] ?? []);
  const vmIds = [...stoodFor, ...machines.all.map(({ vmId }) => vmId)];
  quiet.begin({ deadMembers: vmIds.some((id) => !isServing(truth.vm(id)?.power)) });
  await pass(world, restartMs);
}

function isServing(power: string | undefined): boolean {
  return power === 'running' || power === 'stopped';
}
