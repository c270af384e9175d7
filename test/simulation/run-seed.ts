import { quotaKinds } from '../kit/cloud/quotas.ts';
import { createDice } from './engine/dice.ts';
import { orphans, unmetNetwork } from './judge/desired-network.ts';
import { nodeOf } from './judge/node-object.ts';
import type { Broken } from './judge/observer.ts';
import { blackout, deafLeader, restartMs, slowProof, sweep, unreadableInstance } from './late-events.ts';
import { converge, pass } from './pass-time.ts';
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
const checkMs = 5000;
/** How often the world does what makes the call that a seed aims at. */
const provokeMs = 12_000;

/**
 * Runs one seed: calm, then faults, then calm until the world is as desired, then a change of leader that changes
 * nothing.
 */
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
  if (world.broken === undefined && scenario.unreadableInstance) await unreadableInstance(world);
  if (world.broken === undefined && scenario.slowProof) await slowProof(world);
  if (world.broken === undefined && scenario.deafLeader) await deafLeader(world);
  if (world.broken === undefined && scenario.deleteOrphans && orphans(truth).length > 0) await sweep(world);

  say?.('a change of leader, with nothing changed');
  if (world.broken === undefined) await changeLeader(world, dice.chance(0.5));
  const still = unmetNetwork(truth, scenario, services);
  if (world.broken === undefined && still.length > 0) world.breaks(4, `after a change of leader: ${still.join('; ')}`);
  world.end();
  return { seed, broken: world.broken, seconds: clock.monotonic() / 1000, convergedIn, counts: world.counts };
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
