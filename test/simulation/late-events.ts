import type { Machine } from './actors/machine.ts';
import { createDice, type Dice } from './engine/dice.ts';
import { orphans } from './judge/desired-network.ts';
import { nodeOf } from './judge/node-object.ts';
import { converge, convergenceMs, leastCalmMs, pass, unmet } from './pass-time.ts';
import type { World } from './world.ts';

/** A new leader has taken over and looked at everything. */
export const restartMs = 40_000;
/** Until what was made last counts as an orphan, and a sweep after that. */
const youngMs = 750_000;
const dayMs = 86_400_000;
/** A leader's own ten minutes of observation, and a budget that lets one go at a time. */
const sweepMs = 1_800_000;
/** Longer than two absences without a canary, and than a Node takes to be called unreachable. */
const blackoutMs = 720_000;
/** Younger Nodes are not deleted. */
const oldMs = 300_000;
/** Until a silent Node is called unreachable, and for several looks at it after that. */
const looksMs = 180_000;
/** Answers that say nothing of an instance: only the cloud's own word for it says that it is not there. */
const errors = [
  { kind: 'error', status: 500 },
  { kind: 'error', status: 503 },
  { kind: 'error', status: 403, code: 'forbidden' },
  { kind: 'error', status: 404, code: 'host-not-found' },
  { kind: 'error', status: 409, code: 'conflict' },
  { kind: 'silence' },
] as const;
/** Routes follow their Nodes, and stand for a while after that. */
const routedMs = 45_000;
/** Less than a caller waits. */
const slowMs = 8500;

/**
 * A credential of another project, while no kubelet and no agent is heard: not one Node goes. Afterwards all is as
 * before.
 */
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

/**
 * Recorded Nodes with running VMs, old enough to be deleted: the one with the shortest lease, and the others of its
 * region. Waits until there are two.
 */
async function established(world: World): Promise<Machine[]> {
  const { truth, machines, clock } = world;
  const regionOf = ({ vmId }: Machine) => truth.vm(vmId)?.region;
  const isEstablished = (machine: Machine) => {
    const node = nodeOf(truth.node(machine.name));
    if (node === undefined || node.uid !== machine.nodeUid || node.scope === '' || node.ready !== 'True') return false;
    return machine.otherCloud === '' && machines.running(machine) && clock.now() - node.createdAtMs > oldMs;
  };
  const find = () => {
    const all = machines.all.filter(isEstablished).sort((a, b) => a.leaseSeconds - b.leaseSeconds);
    const ofOneRegion = all.map((one) => [
      one,
      ...all.filter((each) => each !== one && regionOf(each) === regionOf(one)),
    ]);
    return ofOneRegion.find(({ length }) => length > 1) ?? [];
  };
  await pass(world, oldMs, () => find().length > 1);
  return find();
}

/** The host of a VM fails: its kubelet is not heard, and the cloud can say nothing of this one. Its Node stays. */
export async function unreadableInstance(world: World): Promise<void> {
  const { cloud, scenario, say } = world;
  const dice = createDice(scenario.seed, 'which instance is unreadable');
  const [machine] = await established(world);
  if (machine === undefined) return;
  const { vmId, leaseSeconds } = machine;
  const effect = dice.pick(errors);
  say?.(`the cloud can say nothing of VM ${vmId} of ${machine.name}: ${JSON.stringify(effect)}`);
  const faults = [
    cloud.faults.add({ operation: 'instances.lookup', effect: { kind: 'missing-items', ids: [vmId] } }),
    cloud.faults.add({ operation: 'instances.get', instance: vmId, effect }),
  ];
  Object.assign(machine, { kubeletHangs: true, agentSilent: true });
  await pass(world, leaseSeconds * 1000 + looksMs);
  for (const fault of faults) cloud.faults.remove(fault);
  Object.assign(machine, { kubeletHangs: false, agentSilent: false });
  say?.('it can again');
  if (world.broken === undefined) await converge(world);
}

/**
 * A VM vanishes. When its Node turns unreachable, the cloud becomes slow for all others, and a person pauses the Node
 * for a moment.
 */
export async function slowProof(world: World): Promise<void> {
  const { cloud, clock, truth, people, scenario, say } = world;
  const dice = createDice(scenario.seed, 'what is proved slowly');
  const [machine, ...others] = await established(world);
  if (machine === undefined) return;
  const { name, vmId, leaseSeconds } = machine;
  cloud.model.forget(vmId);
  say?.(`VM ${vmId} of ${name} vanishes`);
  await pass(world, leaseSeconds * 1000 + looksMs, () => nodeOf(truth.node(name))?.ready !== 'True');
  const faults: number[] = [];
  clock.setTimer(dice.between(1000, 4000), () => {
    say?.('the cloud takes long over other VMs');
    for (const other of others)
      faults.push(
        cloud.faults.add({
          operation: 'instances.get',
          instance: other.vmId,
          effect: { kind: 'latency', ms: slowMs },
        }),
      );
  });
  clock.setTimer(dice.between(2000, 5000), () => {
    say?.(`a person pauses Node ${name} for a moment`);
    people.pauseFor(name, dice.between(1000, 8000));
  });
  await pass(world, 2 * slowMs + 15_000);
  for (const fault of faults) cloud.faults.remove(fault);
  say?.('the cloud is quick again');
  if (world.broken === undefined) await converge(world);
}

/**
 * All replicas but the leader hear nothing any more. Nodes register again with each other's pod ranges; the leader
 * updates their routes, and crashes.
 */
export async function deafLeader(world: World): Promise<void> {
  const { fleet, people, say } = world;
  const leading = fleet.places.find(({ process }) => process !== undefined && process === fleet.leaders()[0]);
  if (leading === undefined) return;
  const others = fleet.places.filter((place) => place !== leading);
  say?.('the standbys hear nothing any more');
  for (const place of others) {
    place.outage.watch = 'silent';
    fleet.crash(place);
  }
  await pass(world, restartMs);
  const what = people.shuffle();
  say?.(`world  ${what}`);
  await pass(world, routedMs);
  fleet.crash(leading);
  await pass(world, restartMs);
  for (const place of others) place.outage.watch = undefined;
  say?.('the standbys hear again');
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
