import { createSimulatedCloud } from '../sandbox/cloud/cloud.ts';
import { quotaKinds } from '../sandbox/cloud/quotas.ts';
import { createKubeApiCore } from '../sandbox/kube/kube-api-core.ts';
import { createAgentTokens } from './actors/agent-tokens.ts';
import { createAgents } from './actors/agents.ts';
import { createCluster } from './actors/cluster.ts';
import { createMachines, type Machine } from './actors/machines.ts';
import { createPeople } from './actors/people.ts';
import { createReportDelivery } from './actors/report-delivery.ts';
import { createServices } from './actors/services.ts';
import { simulatedSigner } from './actors/token-signer.ts';
import { createTroubles } from './actors/troubles.ts';
import { createTruth } from './actors/truth.ts';
import { createVms } from './actors/vms.ts';
import { aimOf } from './call-sites.ts';
import { createDice } from './engine/dice.ts';
import { type Aim, createFaults } from './engine/faults.ts';
import { createFleet } from './engine/fleet.ts';
import { drawScenario } from './engine/scenario.ts';
import { createTimeline } from './engine/timeline.ts';
import { judgeDeletions } from './judge/deletions.ts';
import { inMotion, silentWaits, unmetNodes } from './judge/desired.ts';
import { orphans, silentServices, unmetNetwork } from './judge/desired-network.ts';
import { collectEvidence } from './judge/evidence.ts';
import { judgeNetwork } from './judge/network.ts';
import { nodeOf } from './judge/node-object.ts';
import type { Broken, Observer } from './judge/observer.ts';
import { judgeQuiet } from './judge/quiet.ts';
import { judgeRanges } from './judge/ranges.ts';
import { judgeReports } from './judge/reports.ts';
import { judgeWrites } from './judge/writes.ts';
import type { Acting } from './wires/wire.ts';

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

/** Old enough that the age of a Node alone protects none. */
const ageMs = 330_000;
const settleMs = 45_000;
/** Every agent has reported since. */
const leastCalmMs = 45_000;
/** Longest back-offs, a lease that has to run out, five minutes between two absences, and a budget that lets one Node go at a time. */
const convergenceMs = 1_800_000;
const checkMs = 5000;
const restartMs = 40_000;
/** Until what was made last counts as an orphan, and a sweep after that. */
const youngMs = 750_000;
const dayMs = 86_400_000;
/** A leader's own ten minutes of sight, and a budget that lets one go at a time. */
const sweepMs = 1_800_000;
/** How often the world does what makes the call that a seed aims at. */
const provokeMs = 12_000;

/** Lives through one seed: some calm, then faults, then calm again until the world is as desired, then a change of leader that changes nothing. */
export async function runSeed(seed: number, trace?: (line: string) => void): Promise<SeedResult> {
  const scenario = drawScenario(seed);
  const timeline = createTimeline();
  const { clock } = timeline;
  const say = trace && ((line: string) => trace(`${(clock.monotonic() / 1000).toFixed(3).padStart(9)}  ${line}`));
  say?.(`scenario ${JSON.stringify(scenario)}`);
  let broken: Broken | undefined;
  const breaks = (promise: string | number, message: string) => {
    if (promise === 6 && fleet.leaseIsLost()) return;
    say?.(`BROKEN PROMISE ${promise}: ${message}`);
    broken ??= { promise: String(promise), at: clock.monotonic(), message };
  };

  /** The machines are older than the controller: the API server stamps what it makes before that as this much older. */
  let olderMs = ageMs;
  const stamping = { ...clock, now: () => clock.now() - olderMs };
  const core = createKubeApiCore({
    clock: stamping,
    random: createDice(seed, 'api server').random,
    signer: simulatedSigner(),
    historyLimit: 100_000,
  });
  const cloud = createSimulatedCloud({
    clock,
    random: createDice(seed, 'cloud').random,
    projects: { demo: { 'sim-1': ['sim-1a', 'sim-1b'], 'sim-2': ['sim-2a'], elsewhere: ['elsewhere-1a'] } },
    timings: {
      pendingMs: scenario.powerMs,
      stoppingMs: scenario.powerMs,
      shuttingDownMs: scenario.powerMs,
      forgetAfterMs: scenario.forgetAfterMs,
    },
    loadBalancerTimings: { provisioningMs: scenario.provisioningMs, deletingMs: scenario.provisioningMs / 2 },
  });
  const truth = createTruth(clock, cloud, core);
  const cluster = createCluster(core, clock);
  const tokens = createAgentTokens(truth, cluster, createDice(seed, 'tokens'));
  const machines = createMachines(truth, cluster, tokens, createDice(seed, 'machines'), scenario);
  const rates = { kube: 0, watch: 0, cloud: 0, report: 0 };
  const counts = new Map<string, number>();
  const { site, kinds } = aimOf(seed);
  const aim: Aim = { site, kinds: [...kinds], armed: false, rests: false };
  const evidence = collectEvidence();
  const observers: Observer[] = [evidence];
  const acting: Acting = { current: undefined };
  const fleet = createFleet({
    timeline,
    core,
    cloud,
    scenario,
    observers,
    acting,
    dice: createDice(seed, 'fleet'),
    rates,
    counts,
    aim,
    trace: say,
    otherNode,
    failed: (identity, why) => say?.(`${identity}  leading failed: ${String(why)}`),
  });
  const quiet = judgeQuiet(breaks);
  observers.push(
    judgeDeletions(truth, evidence, scenario, fleet.wallOffsetOf, breaks),
    judgeReports(breaks),
    judgeWrites(truth, evidence, breaks),
    judgeRanges(truth, breaks),
    judgeNetwork(truth, acting, fleet.holder, scenario, breaks),
    quiet,
  );
  const delivery = createReportDelivery(truth, machines, {
    dice: createDice(seed, 'agents'),
    observers,
    trace: say,
    leader: () => fleet.leaders()[0],
    processes: () => fleet.places.flatMap(({ process }) => (process === undefined ? [] : [process])),
  });
  const agents = createAgents(truth, machines, tokens, {
    dice: createDice(seed, 'what agents say'),
    faults: createFaults({ dice: createDice(seed, 'report faults'), rates, counts, aim, turn: seed }),
    delivery,
  });
  const regions = scenario.clouds.filter(({ reportOnly }) => reportOnly === undefined).map(({ region }) => region);
  const people = createPeople(truth, cluster, machines, createDice(seed, 'people'));
  const services = createServices(truth, cluster, createDice(seed, 'services'), regions);
  const vms = createVms(truth, machines, agents, createDice(seed, 'vms'), regions, scenario);
  const troubles = createTroubles({
    clock,
    core,
    cloud,
    fleet,
    dice: createDice(seed, 'troubles'),
    wildClocks: scenario.wildClocks,
    count: (site, kind) => counts.set(`${site}\t${kind}`, (counts.get(`${site}\t${kind}`) ?? 0) + 1),
  });

  const otherDice = createDice(seed, 'other node');
  /** Its agent is no more to be believed than a liar's. */
  function otherNode(name: string) {
    const others = machines.all.filter((machine) => machine.name !== name && truth.node(machine.name) !== undefined);
    if (others.length === 0) return undefined;
    const other = otherDice.pick(others).name;
    const { uid } = nodeOf(truth.node(other)!);
    truth.liars.add(uid);
    return { name: other, uid };
  }

  /** Lets time pass; ends early when a promise breaks or `done` says so. */
  async function pass(ms: number, done: () => boolean = () => false): Promise<void> {
    const until = clock.monotonic() + ms;
    while (broken === undefined && !done() && (await timeline.step(until))) checkLeaders();
  }

  function checkLeaders(): void {
    const leaders = fleet.leaders();
    if (leaders.length > 1) breaks(6, `${leaders.map(({ identity }) => identity).join(' and ')} both lead`);
  }

  function checkLoops(): void {
    for (const { process } of fleet.places) {
      if (process === undefined || process.wire.clock.paused !== undefined) continue;
      const now = process.wire.clock.monotonic();
      for (const [loop, at] of process.progress()) {
        if (now - at > 120_000)
          breaks('liveness', `${loop} of ${process.identity} has not come round for ${Math.round(now - at)} ms`);
      }
    }
    if (!broken) clock.setTimer(10_000, checkLoops);
  }

  for (let index = 0; index < scenario.machines; index += 1)
    machines.add({ name: `n${index}`, region: regions[index % regions.length]! });
  for (const { reportOnly } of scenario.clouds)
    if (reportOnly !== undefined) machines.add({ name: 'other-0', region: 'elsewhere', otherCloud: reportOnly });
  for (let index = 0; index < scenario.foreignNodes; index += 1) {
    const providerID = index === 0 ? 'elsewhere://zone/vm-1' : undefined;
    const uid = cluster.register(`foreign-${index}`, {
      systemUuid: '',
      uninitialized: index === 0,
      ...(providerID === undefined ? {} : { providerID }),
      addresses: [{ type: 'InternalIP', address: `192.0.2.${index + 1}` }],
    });
    truth.foreign.add(uid);
  }
  await pass(15_000);
  olderMs = 0;
  for (let index = 0; index < scenario.services; index += 1) services.create(`s${index}`);
  fleet.start();
  checkLoops();

  if (!scenario.earlyFaults) await pass(settleMs);
  say?.('faults begin');
  Object.assign(rates, scenario.rates);
  const dice = createDice(seed, 'actions');
  const chaosEnds = clock.monotonic() + scenario.chaosMs;
  const act = () => {
    if (clock.monotonic() >= chaosEnds) return;
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
  if (scenario.deaf) {
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
  await pass(scenario.chaosMs);
  aim.armed = false;

  say?.('faults have stopped');
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
  if (scenario.orphan) {
    for (const place of fleet.places) fleet.crash(place);
    const what = services.orphan();
    say?.(`world  ${what}`);
  }
  const calmFrom = clock.monotonic();
  /** What it says now may undo what it said before. */
  const isHeard = (machine: Machine) =>
    machine.agentless ||
    !machine.kubeletUp ||
    !machines.running(machine) ||
    machine.heardAt > Math.max(calmFrom, machine.upAt);
  const unmet = (noOrphans: boolean) => {
    const left = noOrphans ? { stripped: new Set<string>(), kept: services.kept } : services;
    return [...unmetNodes(truth, machines, scenario), ...unmetNetwork(truth, scenario, left)];
  };
  let differs: string[] = [];
  while (broken === undefined && clock.monotonic() - calmFrom < convergenceMs) {
    await pass(checkMs);
    people.mend();
    differs = unmet(false);
    const still = !inMotion(truth, machines, scenario);
    const heard = clock.monotonic() - calmFrom > leastCalmMs && machines.all.every(isHeard);
    if (differs.length === 0 && still && heard && fleet.places.every(({ process }) => process !== undefined)) break;
  }
  const convergedIn = (clock.monotonic() - calmFrom) / 1000;
  const unheard = machines.all
    .filter((machine) => !isHeard(machine))
    .map(({ name }) => `nobody hears the agent of ${name}`);
  differs.push(...unheard);
  if (broken === undefined && differs.length > 0) breaks('convergence', differs.join('; '));
  const silent = [...silentWaits(truth, scenario), ...silentServices(truth)];
  if (silent.length > 0) breaks(12, `nothing says why ${silent.join(', ')} wait`);
  await pass(checkMs);

  if (broken === undefined && scenario.deleteOrphans && orphans(truth).length > 0) await sweep();

  function isGoing(id: string): boolean {
    return cloud.network.loadBalancers.store.get(id)?.state === 'deleting';
  }

  /** What no Service accounts for is seen, and is still there a day later: it goes. */
  async function sweep(): Promise<void> {
    say?.(`orphans: ${orphans(truth).join(', ')}`);
    await pass(youngMs);
    const seen = orphans(truth).length;
    say?.('a day goes by');
    fleet.frozen(() => timeline.leap(dayMs));
    // In the middle of a removal, between one call and the next.
    await pass(sweepMs, () => orphans(truth).length < seen || orphans(truth).some((id) => isGoing(id)));
    people.pauseAll();
    await pass(restartMs);
    people.pauseAll();
    await pass(sweepMs, () => orphans(truth).length === 0);
    await pass(leastCalmMs);
    await pass(convergenceMs, () => unmet(true).length === 0);
    const left = [...orphans(truth).map((id) => `orphan ${id} (of ${seen})`), ...unmet(true)];
    if (broken === undefined && left.length > 0) breaks('convergence', `a day later: ${left.join('; ')}`);
  }

  say?.('a change of leader, with nothing changed');
  if (broken === undefined) {
    const place = fleet.places.find(({ process }) => process === fleet.leaders()[0]) ?? fleet.places[0]!;
    if (dice.chance(0.5)) fleet.crash(place);
    else fleet.stop(place);
    quiet.begin({ deadMembers: machines.all.some(({ vmId }) => !isServing(truth.vm(vmId)?.power)) });
    await pass(restartMs);
  }
  const still = unmetNetwork(truth, scenario, services);
  if (broken === undefined && still.length > 0) breaks(4, `after a change of leader: ${still.join('; ')}`);
  fleet.end();
  machines.stop();
  agents.stop();
  cloud.close();
  return { seed, broken, seconds: clock.monotonic() / 1000, convergedIn, counts };
}

function isServing(power: string | undefined): boolean {
  return power === 'running' || power === 'stopped';
}
