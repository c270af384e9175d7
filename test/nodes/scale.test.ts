import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { annotations, labels, taints } from '../../common/well-known.ts';
import { KubeError } from '../../controller/kube/api.ts';
import { secondsUntil } from './harness/fleet.ts';
import { createWorld, providerID, type Replica, reportedOf, type World, type WorldOptions } from './harness/world.ts';

describe('many Nodes', () => {
  let world: World;
  let replica: Replica;
  afterEach(() => world.close());

  function setUp(options: WorldOptions = {}): void {
    world = createWorld(options);
    replica = world.replica();
  }

  /** Nodes that an earlier leader initialised. */
  function initialised(count: number): void {
    for (const vm of world.cloud.model.createMany(count, { name: 'n' })) {
      world.cluster.register(vm.name, {
        tainted: false,
        providerID: providerID(vm),
        systemUuid: vm.smbiosUuid ?? '',
        addresses: reportedOf(vm).addresses,
        labels: { [labels.zone]: vm.zone, [labels.region]: vm.region },
        annotations: { [annotations.instance]: `${world.scope} ${vm.incarnation}` },
      });
    }
  }

  for (const latency of [0, 50, 200]) {
    for (const how of ['by name', 'by providerID', 'by report'] as const) {
      it(`takes at most 10 cloud calls of ${latency} ms for 1,000 joins in two seconds, found ${how}`, async () => {
        setUp();
        if (latency > 0) world.cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: latency } });
        await replica.start();
        const vms = world.cloud.model.createMany(1000, { name: 'n' });
        for (const [index, vm] of vms.entries()) {
          const known = how === 'by providerID' ? { providerID: providerID(vm) } : {};
          world.cluster.register(vm.name, { systemUuid: vm.smbiosUuid ?? '', ...known });
          if (how === 'by report') replica.report(vm.name, { instance: reportedOf(vm) });
          if (index % 20 === 19) await world.clock.advance(40);
        }
        const left = () =>
          world.cluster.names().filter((name) => world.cluster.hasTaint(name, taints.uninitialized)).length;
        await world.clock.advance(3000);
        assert.equal(left(), 0);
        assert.ok(world.cloudCalls() <= 10, `${world.cloudCalls()} calls`);
        assert.equal(replica.kube.writes().length, 2000, 'two patches each');
      });
    }
  }

  it('shows progress of every loop while each write about 500 missing Nodes hangs', async () => {
    setUp({ budget: '1/10m' });
    initialised(600);
    await replica.start();
    await world.clock.advance(600_000);
    replica.kube.intercept = async ({ verb, path }) => {
      if (verb !== 'patch' || !path.startsWith('/api/v1/nodes/')) return;
      await new Promise((resolve) => world.clock.setTimer(10_000, () => resolve(undefined)));
      throw new KubeError({ status: 0, reason: 'Timeout', message: 'injected' });
    };
    for (const { id, name } of [...world.cloud.model.all()].slice(0, 500)) {
      world.cloud.model.forget(id);
      world.cluster.setReady(name, 'Unknown');
    }
    for (let tick = 0; tick < 20; tick += 1) {
      await world.clock.advance(15_000);
      for (const [loop, at] of replica.task.progress())
        assert.ok(world.clock.monotonic() - at <= 120_000, `${loop} is ${world.clock.monotonic() - at} ms late`);
    }
  });

  it('refreshes 5,000 in 5 calls, and costs 60 an hour', async () => {
    setUp();
    initialised(5000);
    await replica.start();
    await world.clock.advance(1000);
    assert.equal(world.cloudCalls(), 5);
    await world.clock.advance(1000);
    const before = world.cloudCalls();
    await world.clock.advance(3_600_000);
    assert.ok(world.cloudCalls() - before <= 60, `${world.cloudCalls() - before} calls`);
  });

  it('looks up 1,000 that turn NotReady at once in one call', async () => {
    setUp();
    initialised(1000);
    await replica.start();
    await world.clock.advance(5000);
    const before = world.cloudCalls();
    for (let index = 1; index <= 1000; index += 1)
      world.cluster.setReady(`n-${String(index).padStart(4, '0')}`, 'Unknown');
    await world.clock.advance(1500);
    assert.equal(world.cloudCalls() - before, 1);
    await world.clock.advance(600_000);
    assert.ok(world.cloudCalls() - before <= 20, `${world.cloudCalls() - before} calls in ten minutes`);
  });

  it('costs no call when 5,000 agents come back to a new leader without a contradiction', async () => {
    setUp();
    initialised(1000);
    await replica.start();
    await world.clock.advance(5000);
    const before = world.cloudCalls();
    for (const vm of world.cloud.model.all()) replica.report(vm.name, { instance: reportedOf(vm) });
    await world.clock.advance(60_000);
    assert.equal(world.cloudCalls(), before);
  });

  it('costs a few calls and no write when 1,000 agents end at once, as in a roll-out of their DaemonSet', async () => {
    setUp();
    initialised(1000);
    await replica.start();
    await world.clock.advance(5000);
    replica.kube.forgetCalls();
    const before = world.cloudCalls();
    const vms = world.cloud.model.all();
    for (const vm of vms) replica.report(vm.name, { instance: reportedOf(vm), leaving: true });
    await world.clock.advance(10_000);
    for (const vm of vms) replica.report(vm.name, { instance: reportedOf(vm), agentId: `next-${vm.name}` });
    await world.clock.advance(300_000);
    assert.ok(world.cloudCalls() - before <= 8, `${world.cloudCalls() - before} calls`);
    assert.deepEqual(replica.kube.writes(), []);
  });

  it('deletes 40 that vanish at once, all expected, within two minutes although a pass has 20 proofs', async () => {
    setUp();
    initialised(200);
    await replica.start();
    await world.clock.advance(400_000);
    const names = Array.from({ length: 40 }, (_, index) => `n-${String(index + 1).padStart(4, '0')}`);
    for (const vm of world.cloud.model.all()) if (names.includes(vm.name)) world.cloud.model.forget(vm.id);
    for (const name of names) {
      world.cluster.mergePatch(name, {
        spec: { taints: [{ key: taints.toBeDeletedByAutoscaler, effect: 'NoSchedule' }] },
      });
      world.cluster.setReady(name, 'Unknown');
    }
    const seconds = await secondsUntil(world, () => names.every((name) => world.cluster.node(name) === undefined), 300);
    assert.ok(seconds <= 120, `${seconds} s`);
    assert.equal(world.cluster.names().length, 160);
  });
});
