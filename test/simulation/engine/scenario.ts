import { aimOf } from '../call-sites.ts';
import { createDice } from './dice.ts';
import type { FaultRates } from './faults.ts';

/** A namespace to which nothing is lent, and whose Services may leave nothing behind. */
export const rogueNamespace = 'rogue';

/** What one seed makes of the world, before anything happens in it. */
export interface Scenario {
  readonly seed: number;
  readonly machines: number;
  readonly replicas: number;
  /** How fast each replica's clocks run. */
  readonly clockRates: readonly number[];
  readonly clouds: readonly { readonly region: string; readonly reportOnly?: string }[];
  readonly foreignNodes: number;
  readonly budget: string;
  /** Of deletions that the cloud had announced. */
  readonly announcedBudget: string;
  /** Of members and routes whose Nodes vanished. */
  readonly removalBudget: string;
  /** How long a member drains. */
  readonly drainMs: number;
  readonly services: number;
  /** The controller gives Nodes their pod ranges; else they bring them. */
  readonly ipam: boolean;
  /** A Service is deleted without its finalizer while no replica leads. */
  readonly orphan: boolean;
  readonly deleteOrphans: boolean;
  /** The caches of some replicas hear nothing for minutes, though their watches look alive. */
  readonly deaf: boolean;
  /** How long the cloud may take over a read. */
  readonly cloudLagMs: number;
  /** How long the cloud works on a load balancer. */
  readonly provisioningMs: number;
  readonly outOfServiceTaint: boolean;
  readonly interruptionTaint: boolean;
  /** Of lists of the API server. */
  readonly pageSize: number;
  readonly rates: FaultRates;
  /** Mean milliseconds between two things that happen in the world. */
  readonly actionMeanMs: number;
  /** How long things go wrong. */
  readonly chaosMs: number;
  /** Faults strike from the first moment, rather than after the first minute. */
  readonly earlyFaults: boolean;
  /** At the end, for minutes, the cloud shows nothing and no kubelet is heard. */
  readonly blackout: boolean;
  /**
   * At the end, for minutes, the cloud answers every question about one VM with an error, and its kubelet is not heard.
   */
  readonly unreadableInstance: boolean;
  /** At the end a VM vanishes, and the cloud takes long over what would prove that. */
  readonly slowProof: boolean;
  /** At the end pod ranges change places, and then one leads that has not heard of it. */
  readonly deafLeader: boolean;
  /** Wall clocks jump by minutes rather than seconds. */
  readonly wildClocks: boolean;
  /** How long VMs take on their way from one state to the next. */
  readonly powerMs: number;
  /** How long a terminated VM is still shown. */
  readonly forgetAfterMs: number;
}

export function drawScenario(seed: number): Scenario {
  const dice = createDice(seed, 'scenario');
  const replicas = dice.pick([1, 2, 2, 2, 3]);
  const { site } = aimOf(seed);
  const special = dice.random();
  const orphan = special < 0.025;
  const deaf = special > 0.92;
  // Nodes go only after a while, and only within a budget.
  const deletes = site === 'kube delete nodes';
  // What takes several calls that all have to go well is not reached where much fails.
  const late = deletes || /routes\/\*$|\/pools|(PATCH|DELETE) (addresses|load-balancers)\/\*$/.test(site);
  const level = dice.pick(late || deaf ? [0.01] : [0.01, 0.04, 0.1, 0.25]);
  return {
    seed,
    machines: site === 'cloud GET instances' ? 6 : dice.whole(3, 7),
    replicas,
    clockRates: Array.from({ length: replicas }, () => dice.pick([1, 1, 0.985, 1.015])),
    clouds: [
      { region: 'sim-1' },
      ...(dice.chance(0.25) ? [{ region: 'sim-2' }] : []),
      ...(dice.chance(0.2) ? [{ region: '', reportOnly: 'aws' }] : []),
    ],
    foreignNodes: dice.whole(0, 2),
    announcedBudget: '50%/2m',
    budget: dice.pick(deletes ? ['100%/1m'] : ['1/1m', '2/2m', '10%/2m', '50%/1m', '100%/1m', '100%/1m']),
    // All Nodes going at once, again and again, leaves more than one a minute removes in time.
    removalBudget: dice.pick(site === 'cloud GET instances' ? ['100%/1m'] : ['1/1m', '50%/1m', '100%/1m']),
    drainMs: dice.pick([0, 5000, 15_000]),
    services: dice.whole(1, 3),
    ipam: !deaf && dice.chance(0.25),
    orphan,
    deleteOrphans: orphan || dice.chance(0.2),
    deaf,
    cloudLagMs: special > 0.3 && special < 0.4 ? 20_000 : 0,
    provisioningMs: orphan ? 20_000 : dice.pick(late ? [0] : [0, 3000, 20_000]),
    outOfServiceTaint: dice.chance(0.3),
    interruptionTaint: dice.chance(0.3),
    pageSize: dice.pick([2, 3, 50]),
    rates: {
      kube: dice.chance(0.1) ? 0 : level,
      watch: dice.chance(0.2) ? 0 : level * 0.6,
      cloud: dice.chance(0.1) ? 0 : level * 1.5,
      report: 0.4,
    },
    actionMeanMs: dice.pick([3000, 6000, 12_000]),
    chaosMs: dice.whole(deletes ? 170_000 : deaf ? 120_000 : 60_000, 180_000),
    earlyFaults: dice.chance(0.3),
    // Of a stream of its own, so that what earlier seeds found stays what they find.
    blackout: createDice(seed, 'blackout').chance(0.06),
    unreadableInstance: createDice(seed, 'unreadable instance').chance(0.06),
    slowProof: createDice(seed, 'slow proof').chance(0.1),
    deafLeader: replicas > 1 && createDice(seed, 'deaf leader').chance(0.08),
    wildClocks: dice.chance(0.1),
    powerMs: dice.pick(deletes ? [2000] : [2000, 4000, 40_000]),
    forgetAfterMs: dice.pick([5000, 30_000, 3_600_000]),
  };
}
