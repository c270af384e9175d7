import assert from 'node:assert/strict';
import type {
  DesiredLoadBalancer,
  LoadBalancerRef,
  ObservedLoadBalancer,
} from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, newOwner } from '../suite/desired.ts';
import { type Driven, type Driving, ensure, printStep, refOf, remove, type ServiceRecord } from '../suite/drive.ts';
import type { CloudVm, CloudWorld } from '../suite/world.ts';
import type { FakeEdge } from './fake/fake-floating-ips.ts';
import type { FakeOctavia } from './fake/octavia-state.ts';
import type { FakeCall, FakeOpenStack } from './fake/openstack-state.ts';
import { fakeOpenStackWorld } from './fake-world.ts';
import { fakeOctaviaWorld } from './octavia-world.ts';

/** A fake OpenStack with two servers, and one Service that the tests change at will. */
export interface OctaviaHarness {
  readonly world: CloudWorld;
  readonly fake: FakeOpenStack;
  readonly octavia: FakeOctavia;
  readonly edge: FakeEdge;
  readonly vms: readonly CloudVm[];
  readonly record: ServiceRecord;
  desired: DesiredLoadBalancer;
  /** A fresh process brings it about; `fields` stay for what follows. */
  ensure(fields?: Partial<DesiredLoadBalancer>): Promise<Driven>;
  remove(): Promise<Driven>;
  driving(fields?: Partial<Driving>): Promise<Driving>;
  observe(fields?: Partial<LoadBalancerRef>): Promise<ObservedLoadBalancer | undefined>;
  /** The one load balancer as the API shows its fields. */
  only(): { readonly id: string; readonly fields: Record<string, unknown>; readonly status: string };
  /** Calls since the last time that this was asked, `METHOD /path`. */
  calls(): string[];
  close(): Promise<void>;
}

export async function octaviaHarness(config = ''): Promise<OctaviaHarness> {
  let made: { fake: FakeOpenStack; inner: ReturnType<typeof fakeOctaviaWorld> } | undefined;
  const world = fakeOpenStackWorld({
    config,
    octavia(fake) {
      made = { fake, inner: fakeOctaviaWorld(fake) };
      return made.inner;
    },
  });
  assert.ok(made);
  const { fake, inner } = made;
  const vms = [await world.createVm(), await world.createVm()];
  const record: ServiceRecord = { id: undefined };
  let from = 0;
  const driving = async (fields: Partial<Driving> = {}): Promise<Driving> => {
    const { loadBalancers } = await world.open();
    assert.ok(loadBalancers);
    return { world, balancers: loadBalancers, desired: harness.desired, record, ...fields };
  };
  const harness: OctaviaHarness = {
    world,
    fake,
    octavia: inner.octavia,
    edge: inner.edge,
    vms,
    record,
    desired: desiredFor(newOwner(world.cluster), vms),
    async ensure(fields = {}) {
      harness.desired = { ...harness.desired, ...fields };
      return ensure(await driving());
    },
    remove: async () => remove(await driving()),
    driving,
    async observe(fields = {}) {
      const { balancers } = await driving();
      const ref = { ...refOf(harness.desired, record), ...fields };
      return world.during(balancers.observe(ref));
    },
    only() {
      const [one, ...others] = inner.octavia.balancers.values();
      assert.ok(one && others.length === 0, `${others.length + (one ? 1 : 0)} load balancers`);
      return one;
    },
    calls() {
      const some = fake.calls.slice(from).filter(({ service }) => service !== 'identity');
      from = fake.calls.length;
      return some.map(textOfCall);
    },
    close: () => world.close(),
  };
  return harness;
}

/** Ids in paths are left out. */
export function textOfCall({ method, path }: Pick<FakeCall, 'method' | 'path'>): string {
  return `${method} ${path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')}`;
}

export const steps = (driven: Driven): string[] => driven.steps.map(printStep);
export const reasons = (driven: Driven): string[] => driven.refusals.map(({ reason }) => reason);
