import assert from 'node:assert/strict';
import { prefix } from '../../../controller/clouds/digitalocean/annotations.ts';
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
import { type DigitalOceanWorld, digitalOceanWorld } from './digitalocean-world.ts';
import type { FakeBalancer } from './fake/fake-account.ts';

export type Ask = Partial<Omit<DesiredLoadBalancer, 'annotations'>> & {
  /** Without the prefix; a whole key where it has a slash. */
  readonly annotations?: Readonly<Record<string, string>>;
};

export interface Adoption {
  readonly seen: ObservedLoadBalancer | undefined;
  /** Summaries of what was done. */
  readonly steps: readonly string[];
}

/** One Service with two droplets on a fake account. */
export interface BalancerHarness {
  readonly world: DigitalOceanWorld;
  readonly vms: readonly CloudVm[];
  readonly owner: DesiredLoadBalancer['owner'];
  desired(ask?: Ask): DesiredLoadBalancer;
  /** Until nothing is to be done any more, by one process. */
  settle(ask?: Ask): Promise<Driven>;
  remove(ask?: Ask): Promise<Driven>;
  /** Carries out what a process plans that may take over what the classic controller made. */
  adopt(proof: Partial<AdoptionProof>, ask?: Ask): Promise<Adoption>;
  /** Another process, with nothing but the record: it reads everything first. */
  restart(): Promise<void>;
  /** Waits until the next change looks first. */
  age(): Promise<void>;
  /** `POST /v2/load_balancers`, since the last time this was asked. */
  calls(): string[];
  /** The only one. */
  balancer(): FakeBalancer;
}

export async function createBalancerHarness(env: Readonly<Record<string, string>> = {}): Promise<BalancerHarness> {
  const world = digitalOceanWorld({ env });
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
      const keys = Object.entries(annotations).map(([key, value]) => [key.includes('/') ? key : prefix + key, value]);
      return desiredFor(owner, vms, { service: 'shop/web', ...ask, annotations: Object.fromEntries(keys) });
    },
    settle: (ask) => ensure({ world, balancers, desired: harness.desired(ask), record }),
    remove: (ask) => remove({ world, balancers, desired: harness.desired(ask), record }),
    async adopt(proof, ask) {
      const desired = harness.desired(ask);
      const adopt = { clusterName: 'kubernetes', addresses: [], annotations: desired.annotations, ...proof };
      const steps: string[] = [];
      const onStep = ({ summary }: LoadBalancerStep) => void steps.push(summary);
      let seen = await world.during(balancers.observe({ ...refOf(desired, record), adopt }));
      const plan = seen?.adopted ? balancers.plan(desired) : undefined;
      if (plan?.steps.length) seen = await world.during(balancers.apply(plan, { permit: () => {}, onStep }));
      return { seen, steps };
    },
    async restart() {
      const { loadBalancers } = await world.open();
      assert.ok(loadBalancers);
      balancers = loadBalancers;
      await world.during(balancers.observeAll(world.cluster));
    },
    age: () => world.pass(60_000),
    calls() {
      const calls = fake.calls.slice(lookedAt).map(({ method, path }) => `${method} ${path}`);
      lookedAt = fake.calls.length;
      return calls.map((call) => call.replace(/\/[0-9a-f-]{36}/, '/{id}'));
    },
    balancer() {
      const all = [...fake.balancers.values()];
      assert.equal(all.length, 1, all.map(({ wire }) => wire.name).join(', '));
      return all[0]!;
    },
  };
  await harness.restart();
  return harness;
}
