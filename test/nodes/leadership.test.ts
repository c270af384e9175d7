import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { conditions, labels, taints } from '../../common/well-known.ts';
import { isMutating } from '../../controller/kube/fence.ts';
import { deletions, fleet } from './harness/fleet.ts';
import { type Replica, reportedOf, type World } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

describe('a change of leader', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;
  beforeEach(() => {
    ({ world, replica } = begin());
  });

  it('writes nothing when nothing changed: not to the cluster, not to the Lease', async () => {
    await replica.start();
    const members = await fleet(world, 20);
    members[0]!.kubelet.die();
    world.cloud.model.stop(members[0]!.vm.id);
    await world.clock.advance(120_000);
    assert.equal(world.cluster.hasTaint('n0', taints.shutdown), true);
    world.cluster.register('stuck');
    await world.clock.advance(30_000);
    await replica.stop();
    const lease = { ...world.lease.annotations };
    const next = world.replica();
    await next.start();
    for (const { name, vm } of members) next.report(name, { instance: reportedOf(vm) });
    await world.clock.advance(900_000);
    assert.deepEqual(next.kube.writes(), []);
    assert.deepEqual(world.lease.annotations, lease);
    assert.deepEqual(
      next.events.filter(({ node }) => node !== 'stuck'),
      [],
    );
  });

  it('needs no report to act: Nodes that died meanwhile go', async () => {
    await replica.start();
    const members = await fleet(world, 4);
    await replica.stop();
    members[0]!.kubelet.die();
    world.cloud.model.terminate(members[0]!.vm.id);
    await world.clock.advance(120_000);
    const next = world.replica();
    await next.start();
    await world.clock.advance(21_000);
    assert.deepEqual(deletions(next), ['n0']);
  });

  it('catches up on changes that happened without a leader', async () => {
    await replica.start();
    const members = await fleet(world, 2);
    await replica.stop();
    world.cloud.model.setType(members[0]!.vm.id, 'sim.huge');
    const next = world.replica();
    await next.start();
    await world.clock.advance(2000);
    assert.equal(world.cluster.mustNode('n0').metadata.labels?.[labels.instanceType], 'sim.huge');
    assert.deepEqual(next.kube.writes(), ['patch /api/v1/nodes/n0']);
  });

  it('counts absent answers from the start: a deletion under confirmation waits again', async () => {
    await replica.start();
    const members = await fleet(world, 4);
    members[0]!.kubelet.die();
    world.cloud.model.forget(members[0]!.vm.id);
    await world.clock.advance(60_000);
    assert.equal(world.cluster.condition('n0', 'CloudInstanceMissing')?.reason, 'Confirming');
    await replica.stop();
    const next = world.replica();
    await next.start();
    await world.clock.advance(14_000);
    assert.notEqual(world.cluster.node('n0'), undefined);
    await world.clock.advance(10_000);
    assert.equal(world.cluster.node('n0'), undefined);
  });

  it('sends no call between two terms of one process, and catches up afterwards', async () => {
    await replica.start();
    const members = await fleet(world, 4);
    await replica.stopLeading();
    replica.kube.forgetCalls();
    const calls = world.cloudCalls();
    world.join('late');
    replica.report('n3', { instance: reportedOf(members[3]!.vm) });
    world.cluster.remove('n3');
    await world.clock.advance(1000);
    assert.equal(replica.reports.size, 0, 'nothing is kept of a Node that went between terms');
    members[0]!.kubelet.die();
    world.cloud.model.terminate(members[0]!.vm.id);
    replica.report('n1', { instance: reportedOf(members[1]!.vm), leaving: true });
    await world.clock.advance(300_000);
    assert.deepEqual(replica.kube.calls.filter(isMutating), []);
    assert.equal(world.cloudCalls(), calls);
    assert.equal(replica.task.progress().size, 0);
    await replica.start();
    await world.clock.advance(30_000);
    assert.equal(world.cluster.hasTaint('late', taints.uninitialized), false);
    assert.deepEqual(deletions(replica), ['n0']);
  });

  it('lets running calls finish at the end of a term and starts none', async () => {
    await replica.start();
    world.cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: 3000 } });
    for (let index = 0; index < 50; index += 1) world.join(`n${index}`);
    await world.clock.advance(500);
    await replica.stopLeading();
    const writes = replica.kube.writes().length;
    world.join('late');
    await world.clock.advance(60_000);
    assert.equal(replica.kube.writes().length, writes);
    for (const name of world.cluster.names()) {
      const initialised = world.cluster.condition(name, conditions.cloudInitialized)?.status === 'True';
      assert.equal(world.cluster.hasTaint(name, taints.uninitialized), !initialised, name);
    }
  });

  it('shows progress of every loop through hours, a silent cloud and a failing API server', async () => {
    await replica.start();
    await fleet(world, 4);
    const check = async (minutes: number) => {
      for (let tick = 0; tick < minutes * 4; tick += 1) {
        await world.clock.advance(15_000);
        for (const [loop, at] of replica.task.progress()) {
          assert.ok(world.clock.monotonic() - at <= 120_000, `${loop} is ${world.clock.monotonic() - at} ms late`);
        }
      }
    };
    await check(20);
    world.cloud.faults.add({ operation: '*', effect: { kind: 'silence' } });
    world.cluster.setReady('n0', 'Unknown');
    world.join('late');
    await check(20);
    world.cloud.faults.clear();
    world.core.faults.add({ match: { userAgent: 'mooring' }, effect: { kind: 'drop' } });
    await check(20);
  });
});

describe('before the cache of Nodes is filled', () => {
  const begin = worldStage();

  it('decides, asks and writes nothing', async () => {
    const { world, replica } = begin();
    world.join('a');
    for (let index = 0; index < 3; index += 1) {
      world.core.faults.add({
        match: { verb: 'list', resource: 'nodes', userAgent: 'mooring' },
        effect: { kind: 'answer', status: 503 },
        times: 1,
      });
    }
    const remove = world.core.faults.add({
      match: { verb: 'list', resource: 'nodes', userAgent: 'mooring' },
      effect: { kind: 'answer', status: 503 },
    });
    await replica.start();
    replica.report('a', { instance: reportedOf(world.cloud.model.all()[0]!), leaving: true });
    await world.clock.advance(120_000);
    assert.equal(replica.nodes.synced, false);
    assert.deepEqual(replica.kube.writes(), []);
    assert.equal(world.cloudCalls(), 0);
    remove();
    await world.clock.advance(60_000);
    assert.equal(world.cluster.hasTaint('a', taints.uninitialized), false);
  });

  it('waits for the whole of a paged list of Nodes before its first write', async () => {
    const { world, replica } = begin();
    for (let index = 0; index < 600; index += 1) world.join(`n${index}`);
    let pages = 0;
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    replica.kube.intercept = async (call) => {
      if (call.verb !== 'list') return;
      pages += 1;
      if (pages === 2) await gate;
    };
    await replica.start();
    await world.clock.advance(10_000);
    assert.equal(pages, 2);
    assert.ok(replica.nodes.size >= 500, 'half of it is there');
    assert.deepEqual(replica.kube.writes(), []);
    assert.equal(world.cloudCalls(), 0);
    release();
    await world.clock.advance(5000);
    assert.equal(replica.kube.writes().length, 1200);
  });

  it('ends a term at once that ends meanwhile', async () => {
    const { world, replica } = begin();
    world.core.faults.add({ match: { verb: 'list', userAgent: 'mooring' }, effect: { kind: 'answer', status: 503 } });
    await replica.start();
    const before = world.clock.monotonic();
    await replica.stopLeading();
    assert.equal(world.clock.monotonic(), before);
  });
});
