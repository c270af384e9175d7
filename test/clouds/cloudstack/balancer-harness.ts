import assert from 'node:assert/strict';
import { prefix } from '../../../controller/clouds/cloudstack/annotations.ts';
import type { LoadBalancerStep } from '../../../controller/clouds/load-balancer-step.ts';
import type {
  AdoptionProof,
  DesiredLoadBalancer,
  LoadBalancers,
  ObservedLoadBalancer,
} from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, newOwner } from '../suite/desired.ts';
import { type Driven, ensure, refOf, remove, type ServiceRecord } from '../suite/drive.ts';
import type { CloudVm } from '../suite/world.ts';
import { type CloudStackWorld, type CloudStackWorldOptions, cloudStackWorld } from './cloudstack-world.ts';
import type { FakeAddress, FakeOpening, FakeRule } from './fake/fake-account.ts';

export type Ask = Partial<Omit<DesiredLoadBalancer, 'annotations'>> & {
  /** Without the prefix. */
  readonly annotations?: Readonly<Record<string, string>>;
};

/** One Service with two VMs on a fake account. */
export interface BalancerHarness {
  readonly world: CloudStackWorld;
  readonly vms: readonly CloudVm[];
  readonly owner: DesiredLoadBalancer['owner'];
  desired(ask?: Ask): DesiredLoadBalancer;
  /** Until nothing is to be done any more, by one process. */
  settle(ask?: Ask): Promise<Driven>;
  remove(ask?: Ask, proof?: Partial<AdoptionProof>): Promise<Driven>;
  /** Carries out what a process plans that may take over what the classic controller made. */
  adopt(proof: Partial<AdoptionProof>, ask?: Ask): Promise<ObservedLoadBalancer | undefined>;
  /** Another process, with nothing but the record: it reads everything first. */
  restart(): Promise<void>;
  /** The same process reads everything. */
  readAgain(): Promise<void>;
  /** Names of the commands that change something, since the last time this was asked. */
  changes(): string[];
  /** The only one that has rules or tags. */
  address(): FakeAddress;
  /** By ports. */
  rules(): FakeRule[];
  openings(): FakeOpening[];
}

/** @param world of another Service of the same account */
export async function createBalancerHarness(
  options: CloudStackWorldOptions = {},
  world = cloudStackWorld(options),
): Promise<BalancerHarness> {
  const { fake } = world;
  const vms = [await world.createVm(), await world.createVm()];
  const owner = newOwner(world.cluster);
  const record: ServiceRecord = { id: undefined };
  let lookedAt = 0;
  let balancers: LoadBalancers;

  const harness: BalancerHarness = {
    world,
    vms,
    owner,
    desired({ annotations = {}, ...ask } = {}) {
      const keys = Object.entries(annotations).map(([key, value]) => [prefix + key, value]);
      return desiredFor(owner, vms, { service: 'shop/web', ...ask, annotations: Object.fromEntries(keys) });
    },
    settle: (ask) => ensure({ world, balancers, desired: harness.desired(ask), record }),
    remove(ask, proof) {
      const desired = harness.desired(ask);
      const adopt = proof && { clusterName: 'kubernetes', addresses: [], annotations: desired.annotations, ...proof };
      return remove({ world, balancers, desired, record, adopt });
    },
    async adopt(proof, ask) {
      const desired = harness.desired(ask);
      const adopt = { clusterName: 'kubernetes', addresses: [], annotations: desired.annotations, ...proof };
      const onStep = (_step: LoadBalancerStep) => {};
      let seen = await world.during(balancers.observe({ ...refOf(desired, record), adopt }));
      for (;;) {
        const plan = seen?.owner ? balancers.plan(desired) : undefined;
        if (!plan?.steps.length) return seen;
        seen = await world.during(balancers.apply(plan, { permit: () => {}, onStep }));
      }
    },
    readAgain: async () => void (await world.during(balancers.observeAll(world.cluster))),
    async restart() {
      const { loadBalancers } = await world.open();
      assert.ok(loadBalancers);
      balancers = loadBalancers;
      await world.during(balancers.observeAll(world.cluster));
    },
    changes() {
      const names = fake.commands.slice(lookedAt).map(({ name }) => name);
      lookedAt = fake.commands.length;
      return names.filter((name) => !/^(list|query)/.test(name));
    },
    address() {
      const rules = [...fake.rules.values()];
      const used = [...fake.addresses.values()].filter(
        ({ id, tags }) => Object.keys(tags).length > 0 || rules.some(({ address }) => address === id),
      );
      assert.equal(used.length, 1, used.map(({ ip }) => ip).join());
      return used[0]!;
    },
    rules: () => [...fake.rules.values()].sort((a, b) => a.publicPort - b.publicPort),
    openings: () => [...fake.firewall.values(), ...fake.acls.values()].sort((a, b) => a.first - b.first),
  };
  await harness.restart();
  return harness;
}
