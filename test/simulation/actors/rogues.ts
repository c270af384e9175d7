import type { Dice } from '../engine/dice.ts';
import { clusterCidr } from '../engine/process.ts';
import type { Scenario } from '../engine/scenario.ts';
import { nodeOf } from '../judge/node-object.ts';
import type { Cluster } from './cluster.ts';
import type { Machines } from './machines.ts';
import type { Truth } from './truth.ts';

/** Kubelets that claim what is not theirs, in some seeds. */
export interface Rogues {
  /** They register beside the honest ones. */
  register(): void;
  /** The VMs whose names were claimed end. Answers what happened, for the trace. */
  endNamesakes(): string;
}

/** Nobody but the network's owner may route these: everything, metadata, Services, the VMs, all pods, parts of others. */
const ranges = [
  '0.0.0.0/1',
  '169.254.169.254/32',
  '10.96.0.0/12',
  '10.0.0.0/24',
  clusterCidr,
  '10.244.0.0/23',
  '10.244.1.7/32',
  '10.243.255.0/24',
];

export function createRogues(
  truth: Truth,
  cluster: Cluster,
  machines: Machines,
  dice: Dice,
  scenario: Pick<Scenario, 'clouds'>,
): Rogues {
  const regions = scenario.clouds.flatMap(({ region, reportOnly }) => (reportOnly === undefined ? [region] : []));
  const claimed: string[] = [];

  function claimRange(): void {
    const name = 'rogue-0';
    truth.rogueRanges.add(name);
    machines.add({ name, region: dice.pick(regions), rogueRange: dice.pick(ranges) });
  }

  /** A machine from elsewhere registers under the name of a VM of ours, and says nothing else about itself. */
  function claimName(): void {
    const name = 'namesake-0';
    claimed.push(truth.cloud.model.create({ name, region: dice.pick(regions) }).id);
    truth.namesakes.add(cluster.register(name, { systemUuid: '' }));
  }

  return {
    register() {
      if (dice.chance(0.25)) claimRange();
      if (dice.chance(0.25)) claimName();
    },
    endNamesakes() {
      for (const id of claimed) truth.cloud.model.terminate(id);
      const nodes = truth.nodes().map((value) => nodeOf(value));
      return `VMs end whose names ${nodes.filter(({ uid }) => truth.namesakes.has(uid)).length} Nodes claim`;
    },
  };
}
