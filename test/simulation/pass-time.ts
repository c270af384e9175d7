import type { Machine } from './actors/machine.ts';
import { inMotion, silentWaits, unmetNodes } from './judge/desired.ts';
import { silentServices, unmetNetwork } from './judge/desired-network.ts';
import type { World } from './world.ts';

/** Every agent has reported since, and a list that got no answer has run out. */
export const leastCalmMs = 65_000;
/**
 * Longest back-offs, a lease that has to run out, five minutes between two absences, and a budget of one Node at a
 * time.
 */
export const convergenceMs = 1_800_000;
const checkMs = 5000;

/** Lets time pass; ends early when a promise breaks or `done` says so. */
export async function pass(world: World, ms: number, done: () => boolean = () => false): Promise<void> {
  const { clock, timeline, fleet } = world;
  const until = clock.monotonic() + ms;
  while (world.broken === undefined && !done() && (await timeline.step(until))) {
    const leaders = fleet.leaders();
    if (leaders.length > 1) world.breaks(6, `${leaders.map(({ identity }) => identity).join(' and ')} both lead`);
  }
}

/** Lets time pass until everything is as desired. @returns after how many simulated seconds */
export async function converge(world: World): Promise<number> {
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
  differs.push(...unheard.map(({ name }) => `no controller hears the agent of ${name}`));
  if (world.broken === undefined && differs.length > 0) breaks('convergence', differs.join('; '));
  const silent = [...silentWaits(truth, scenario), ...silentServices(truth)];
  if (silent.length > 0) breaks(12, `nothing says why ${silent.join(', ')} wait`);
  return tookMs / 1000;
}

/** Everything in which the world still differs from what it should be, in words. */
export function unmet({ truth, machines, scenario, services }: World, noOrphans: boolean): string[] {
  const left = noOrphans ? { stripped: new Set<string>(), kept: services.kept } : services;
  return [...unmetNodes(truth, machines, scenario), ...unmetNetwork(truth, scenario, left)];
}
