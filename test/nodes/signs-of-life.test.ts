import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deletions, secondsUntil } from './harness/fleet.ts';
import { type FleetStage, fleetStage } from './harness/fleet-stage.ts';
import { reportedOf, type World } from './harness/world.ts';

describe('a Node with signs of life whose VM the cloud does not have', () => {
  const start = fleetStage();

  it('keeps a Node whose VM is gone while it is Ready', async () => {
    const { world, first, exists, vanish } = await start();
    vanish(first);
    for (let turn = 0; turn <= 30; turn += 1) {
      world.cluster.setReady('n0', 'True');
      await world.clock.advance(30_000);
    }
    assert.equal(exists('n0'), true);
  });

  for (const [sign, show] of [
    ['a lease renewed', ({ world }: FleetStage) => world.cluster.renewLease('n0')],
    ['a report', ({ replica, first }: FleetStage) => replica.report('n0', { instance: reportedOf(first.vm) })],
  ] as const) {
    it(`restarts the confirmation when ${sign} comes between both answers`, async () => {
      const stage = await start();
      const { world, first, exists, doubt } = stage;
      await doubt(first);
      await world.clock.advance(5000);
      show(stage);
      const seconds = await secondsUntil(world, () => !exists('n0'));
      assert.ok(seconds >= 25 && seconds <= 60, `${seconds} s`);
    });
  }

  it('keeps the condition SignOfLife through a change of leader, without a write', async () => {
    const { world, replica, first, exists, reason } = await start();
    world.cloud.model.forget(first.vm.id);
    world.cluster.setReady('n0', 'Unknown');
    await secondsUntil(world, () => reason('n0') !== undefined);
    world.cluster.setReady('n0', 'True');
    await secondsUntil(world, () => reason('n0') === 'SignOfLife');
    await replica.stopLeading();
    replica.kube.forgetCalls();
    await replica.start();
    await world.clock.advance(3000);
    assert.deepEqual(
      replica.kube.writes().filter((write) => write.includes('/nodes/n0')),
      [],
    );
    assert.deepEqual([exists('n0'), reason('n0')], [true, 'SignOfLife']);
  });

  it('keeps a Node whose lease was renewed a moment before the decision: leases are read live', async () => {
    const { world, replica, first, exists, reason, doubt } = await start();
    await doubt(first);
    replica.kube.intercept = (call) => {
      if (call.verb === 'get' && call.path.endsWith('/leases/n0')) world.cluster.renewLease('n0');
    };
    await world.clock.advance(300_000);
    assert.equal(exists('n0'), true);
    assert.equal(reason('n0'), 'SignOfLife');
  });

  it("deletes a Node in time though its kubelet's clock runs an hour ahead", async () => {
    const { world, first, exists, vanish } = await start();
    world.cluster.renewLease('n0', -3_600_000);
    vanish(first);
    world.cluster.renewLease('n0', -3_600_000);
    const notReady = await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds <= 40, `NotReady after ${notReady} s, gone ${seconds} s later`);
  });

  it('keeps a Node whose kubelet renews with a clock that lags an hour behind', async () => {
    const { world, first, exists } = await start();
    world.cloud.model.forget(first.vm.id);
    world.cluster.setReady('n0', 'Unknown');
    first.kubelet.die();
    for (let tick = 0; tick < 60; tick += 1) {
      world.cluster.renewLease('n0', 3_600_000);
      await world.clock.advance(10_000);
    }
    assert.equal(exists('n0'), true);
  });

  it("keeps a young Node though the controller's own wall clock runs an hour ahead", async () => {
    const { world, replica, first, exists, vanish } = await start(4, {}, 60);
    replica.wallAheadMs = 3_600_000;
    vanish(first);
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(60 + seconds >= 300 && 60 + seconds <= 330, `${60 + seconds} s old`);
  });

  it("keeps a Node after a late renewal by the API server's time, not the controller's wall clock", async () => {
    const { world, replica, first, exists, terminate } = await start();
    replica.wallAheadMs = 3_600_000;
    terminate(first);
    world.cluster.renewLease('n0', 0, 100);
    world.cluster.setReady('n0', 'False');
    await world.clock.advance(90_000);
    assert.equal(exists('n0'), true);
    await secondsUntil(world, () => !exists('n0'), 60);
  });

  it('counts the age of a Node from its suspicion where the API server does not tell the time', async () => {
    const { world, replica, first, exists, vanish } = await start(4, {}, 60);
    replica.kube.intercept = (call) => void Object.assign(call, { onDate: undefined });
    vanish(first);
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds >= 300 && seconds <= 420, `${seconds} s`);
  });

  it('keeps a Node while the API server does not answer about its lease', async () => {
    const { world, replica, first, exists, vanish } = await start();
    world.core.faults.add({
      match: { verb: 'get', resource: 'leases', userAgent: 'mooring' },
      effect: { kind: 'answer', status: 503 },
    });
    vanish(first);
    await world.clock.advance(600_000);
    assert.equal(exists('n0'), true);
    assert.equal(await replica.gauge('mooring_node_deletions_withheld', '{reason="LifeUnknown"}'), 1);
  });

  for (const [what, change] of [
    [
      'was re-created',
      ({ cluster }: World) => {
        cluster.remove('n0');
        cluster.register('n0');
      },
    ],
    ['shows life in its status', ({ cluster }: World) => cluster.setReady('n0', 'True')],
  ] as const) {
    it(`keeps a Node that ${what} between decision and delete`, async () => {
      const { world, replica, first, exists, doubt } = await start();
      await doubt(first);
      replica.kube.intercept = (call) => {
        if (call.verb !== 'delete') return;
        replica.kube.intercept = undefined;
        change(world);
      };
      await world.clock.advance(60_000);
      assert.equal(exists('n0'), true);
      assert.deepEqual(deletions(replica), ['n0'], 'tried once, refused by its preconditions');
    });
  }

  it('keeps a Node that renewed its lease while the decision waited for other writes', async () => {
    const { world, replica, members, exists, terminate } = await start(4, { task: { concurrentNodeSyncs: 1 } });
    const both = members.slice(0, 2);
    both.forEach(terminate);
    let held: string | undefined;
    replica.kube.intercept = async (call) => {
      if (call.verb !== 'delete') return;
      replica.kube.intercept = undefined;
      held = call.path;
      await new Promise<void>((resolve) => world.clock.setTimer(11_000, resolve));
    };
    await secondsUntil(world, () => held !== undefined);
    const other = both.find(({ name }) => !held?.endsWith(`/${name}`))!.name;
    world.cluster.renewLease(other);
    await world.clock.advance(15_000);
    assert.deepEqual(deletions(replica).length, 1);
    assert.equal(exists(other), true);
    assert.ok((await secondsUntil(world, () => !exists(other))) <= 90, 'it goes once it is quiet again');
  });
});
