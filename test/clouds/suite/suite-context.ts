import assert from 'node:assert/strict';
import type { DesiredLoadBalancer, LoadBalancers } from '../../../controller/clouds/load-balancers.ts';
import type { Found } from '../../../controller/engine/resource.ts';
import { desiredFor, newOwner } from './desired.ts';
import { type Driving, remove, type ServiceRecord } from './drive.ts';
import { driverOf, listAll } from './recorded-driver.ts';
import type { CloudCapabilities, CloudVm, CloudWorld, InventoryItem, WrapDriver } from './world.ts';

/** What every group of facts works with. */
export interface SuiteContext {
  /** The world of this run; open from the first fact to the last. */
  readonly world: () => CloudWorld;
  readonly capabilities: CloudCapabilities;
}

/** One Service and its load balancer in the cloud under test. */
export interface Example {
  readonly world: CloudWorld;
  readonly vms: readonly CloudVm[];
  desired: DesiredLoadBalancer;
  readonly record: ServiceRecord;
  /** A fresh process: nothing is remembered but the record. */
  fresh(wrap?: WrapDriver): Promise<LoadBalancers>;
  driving(fields?: Partial<Driving>): Promise<Driving>;
  /** What there is now and was not there before this example. */
  made(): Promise<readonly InventoryItem[]>;
}

/** Runs a body with a Service of its own and two VMs, and removes afterwards what it left. */
export async function withExample(
  world: CloudWorld,
  body: (example: Example) => Promise<void>,
  fields: Partial<DesiredLoadBalancer> = {},
): Promise<void> {
  const vms = [await world.createVm(), await world.createVm()];
  const before = await world.inventory();
  const example: Example = {
    world,
    vms,
    desired: desiredFor(newOwner(world.cluster), vms, fields),
    record: { id: undefined },
    async fresh(wrap) {
      const { loadBalancers } = await world.open(wrap);
      assert.ok(loadBalancers, 'the cloud has no load balancers');
      return loadBalancers;
    },
    driving: async (given) => ({
      world,
      balancers: await example.fresh(),
      desired: example.desired,
      record: example.record,
      ...given,
    }),
    made: async () => without(await world.inventory(), before),
  };
  try {
    await body(example);
  } finally {
    await world.pass((await example.fresh()).settleMs);
    await remove(await example.driving({ desired: { ...example.desired, retain: false } }));
    for (const { providerID } of vms) await world.deleteVm(providerID);
  }
}

/** Everything that the lists show to a fresh process, when nothing is late any more. */
export async function listed(example: Example): Promise<readonly Found[]> {
  const driver = await driverOf(async (wrap) => example.world.pass((await example.fresh(wrap)).settleMs));
  return example.world.during(listAll(driver, example.world.cluster));
}

function without(items: readonly InventoryItem[], before: readonly InventoryItem[]): InventoryItem[] {
  const left = before.map(({ kind, name }) => `${kind} ${name}`);
  return items.filter(({ kind, name }) => {
    const at = left.indexOf(`${kind} ${name}`);
    if (at < 0) return true;
    left.splice(at, 1);
    return false;
  });
}

/** In an order of its own, to compare what two runs have made. */
export function sorted(items: readonly InventoryItem[]): string[] {
  return items.map(({ kind, name }) => `${kind} ${name}`).sort();
}
