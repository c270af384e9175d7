import type { Dice } from './engine/dice.ts';
import { orphans } from './judge/desired-network.ts';
import { converge, convergenceMs, leastCalmMs, pass, unmet } from './pass-time.ts';
import type { World } from './world.ts';

/** A new leader has taken over and looked at everything. */
export const restartMs = 40_000;
/** Until what was made last counts as an orphan, and a sweep after that. */
const youngMs = 750_000;
const dayMs = 86_400_000;
/** A leader's own ten minutes of sight, and a budget that lets one go at a time. */
const sweepMs = 1_800_000;
/** Longer than two absences without a canary, and than a Node takes to be called unreachable. */
const blackoutMs = 720_000;

/** A credential of another project, while no kubelet and no agent is heard: not one Node goes. Afterwards all is as before. */
export async function blackout(world: World, dice: Dice): Promise<void> {
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
export async function sweep(world: World): Promise<void> {
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
