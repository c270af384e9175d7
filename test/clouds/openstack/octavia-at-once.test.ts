import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '../../../common/process/clock.ts';
import type {
  DesiredLoadBalancer,
  LoadBalancerPlan,
  LoadBalancers,
  ObservedLoadBalancer,
} from '../../../controller/clouds/load-balancers.ts';
import { desiredFor, memberOf, newOwner, port } from '../suite/desired.ts';
import { refOf } from '../suite/drive.ts';
import type { CloudWorld } from '../suite/world.ts';
import { fakeOpenStackWorld } from './fake-world.ts';
import { fakeOctaviaWorld, octaviaConfig } from './octavia-world.ts';

const count = 40;
const ports = [port(80, 30_080), port(443, 30_443)];

/** An Octavia that goes by the clock, as with amphorae. */
function timedWorld() {
  const calls: string[] = [];
  const clocks: Clock[] = [];
  const world = fakeOpenStackWorld({
    config: octaviaConfig,
    onCall: ({ operation }) => calls.push(operation),
    octavia(fake, _cluster, clock) {
      clocks.push(clock);
      const inner = fakeOctaviaWorld(fake);
      inner.octavia.takes = { createMs: 40_000, updateMs: 2000, deleteMs: 8000, nowMs: () => clock.monotonic() };
      return inner;
    },
  });
  return { world, calls, clock: clocks[0]! };
}

interface Work {
  readonly desired: DesiredLoadBalancer;
  observed: ObservedLoadBalancer | undefined;
  readonly planFor: (observed: ObservedLoadBalancer | undefined) => LoadBalancerPlan | undefined;
}

/** Brings all of it to its end side by side, each looked at when its own plan says so. */
async function settle(world: CloudWorld, clock: Clock, balancers: LoadBalancers, works: readonly Work[]) {
  const dueMs = new Map(works.map((work) => [work, clock.monotonic()]));
  const ids = new Map(works.map((work) => [work, work.observed?.id]));
  async function turn(work: Work, looks: boolean): Promise<void> {
    if (looks) work.observed = await balancers.observe(refOf(work.desired, { id: ids.get(work) }));
    for (;;) {
      const plan = work.planFor(work.observed);
      if (!plan?.steps.length) {
        if (plan?.waitMs === undefined) dueMs.delete(work);
        else dueMs.set(work, clock.monotonic() + plan.waitMs);
        return;
      }
      work.observed = await balancers.apply(plan, { permit: () => {} });
      ids.set(work, ids.get(work) ?? work.observed?.id);
    }
  }
  for (let round = 0; dueMs.size > 0; round += 1) {
    assert.ok(round < 1000, 'no end');
    await world.pass(Math.max(0, Math.min(...dueMs.values()) - clock.monotonic()));
    const due = [...dueMs].filter(([, atMs]) => atMs <= clock.monotonic());
    await world.during(Promise.all(due.map(([work]) => turn(work, round > 0))));
  }
}

describe(`${count} Services of two ports at once`, () => {
  it('makes few calls for each Service to create, for one node more, and to delete', async () => {
    const { world, calls, clock } = timedWorld();
    try {
      const { loadBalancers: balancers } = await world.open();
      assert.ok(balancers);
      const vms = [await world.createVm(), await world.createVm()];
      await world.during(balancers.observeAll(world.cluster));
      const spent = () => calls.splice(0).length / count;
      spent();
      const plan = (desired: DesiredLoadBalancer, observed: ObservedLoadBalancer | undefined): Work => ({
        desired,
        observed,
        planFor: () => balancers.plan(desired),
      });
      const works = Array.from({ length: count }, () =>
        plan(desiredFor(newOwner(world.cluster), vms, { ports }), undefined),
      );
      await settle(world, clock, balancers, works);
      const made = spent();
      assert.ok(made <= 3.5, `${made} calls for each that is made`);
      for (const { observed } of works) assert.ok(observed?.ingress.length);

      const members = [...vms, await world.createVm()].map((vm) => memberOf(vm));
      const grown = works.map(({ desired, observed }) => plan({ ...desired, members }, observed));
      await settle(world, clock, balancers, grown);
      const more = spent();
      assert.ok(more <= 2.5, `${more} calls for each that gets a member in two pools`);

      const removals = grown.map(
        ({ desired, observed }): Work => ({
          desired,
          observed,
          planFor: (now) => now && balancers.planRemoval(now.owner!, { retain: false }),
        }),
      );
      await settle(world, clock, balancers, removals);
      const removed = spent();
      assert.ok(removed <= 3.5, `${removed} calls for each that is removed`);
      const left = await world.inventory();
      assert.deepEqual(
        left.filter(({ kind }) => kind !== 'route'),
        [],
      );
    } finally {
      await world.close();
    }
  });
});
