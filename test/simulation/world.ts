import { createSimulatedCloud } from '../kit/cloud/cloud.ts';
import { createKubeApiCore } from '../kit/kube-api/kube-api-core.ts';
import { createAgentTokens } from './actors/agent-tokens.ts';
import { createAgents } from './actors/agents.ts';
import { createCluster } from './actors/cluster.ts';
import { install } from './actors/installation.ts';
import { createMachines } from './actors/machines.ts';
import { createPeople } from './actors/people.ts';
import { createReportDelivery } from './actors/report-delivery.ts';
import { createRogues } from './actors/rogues.ts';
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
import { createActJudge } from './judge/cloud-acts.ts';
import { judgeDeletions } from './judge/deletions.ts';
import { collectEvidence } from './judge/evidence.ts';
import { judgeIdentities } from './judge/identities.ts';
import { judgeLoadBalancers } from './judge/load-balancers.ts';
import { judgeNamespaces } from './judge/namespaces.ts';
import { nodeOf } from './judge/node-object.ts';
import type { Broken, Observer } from './judge/observer.ts';
import { judgeQuiet } from './judge/quiet.ts';
import { judgeRanges } from './judge/ranges.ts';
import { judgeReports } from './judge/reports.ts';
import { judgeRights } from './judge/rights.ts';
import { judgeRoutes } from './judge/routes.ts';
import { judgeTotalAbsence } from './judge/total-absence.ts';
import { collectViews } from './judge/views.ts';
import { judgeWrites } from './judge/writes.ts';
import type { Acting } from './wires/wire.ts';

/** Old enough that the age of a Node alone protects none. */
const ageMs = 330_000;

/** Everybody in the world of one seed, the controller's processes and the judges. */
export type World = ReturnType<typeof createWorld>;

/** @param trace gets every line of what happens */
export function createWorld(seed: number, trace?: (line: string) => void) {
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
  const user = install(cluster);
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
    user,
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
  const views = collectViews(clock);
  const judgeAct = createActJudge(views, fleet.holder, breaks);
  observers.push(
    judgeDeletions(truth, evidence, scenario, breaks),
    judgeReports(breaks),
    judgeRights(breaks),
    judgeIdentities(truth, breaks),
    judgeTotalAbsence(truth, breaks),
    judgeNamespaces(truth, acting, breaks),
    judgeWrites(truth, evidence, breaks),
    judgeRanges(truth, breaks),
    views,
    judgeLoadBalancers(truth, acting, views, judgeAct, scenario, breaks),
    judgeRoutes(truth, acting, judgeAct, breaks),
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

  const rogues = createRogues(truth, cluster, machines, createDice(seed, 'rogues'), scenario);

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

  function populate(): void {
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
    rogues.begin();
  }

  return {
    scenario,
    timeline,
    clock,
    cloud,
    truth,
    machines,
    fleet,
    people,
    services,
    vms,
    troubles,
    rogues,
    agents,
    quiet,
    observers,
    rates,
    counts,
    aim,
    say,
    breaks,
    /** The first promise that was broken. */
    get broken(): Broken | undefined {
      return broken;
    },
    /** The machines that are there from the start, and what is not ours. */
    populate,
    /** What the API server makes from now on is as old as it is. */
    stampTruly() {
      olderMs = 0;
    },
    end() {
      fleet.end();
      machines.stop();
      agents.stop();
      cloud.close();
    },
  };
}
