import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { assertConverged } from './harness/converged.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

describe('the right to change', () => {
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    world = createWorld();
    replica = world.replica();
    world.node('n0');
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
  });
  afterEach(() => world.close());

  it('makes no call, condition or event while the Service is paused, and goes on by itself afterwards', async () => {
    world.services.annotate('web', { [annotations.paused]: 'true' });
    await world.clock.advance(1000);
    const [before, events] = [world.mutationCount(), replica.events.length];
    replica.kube.forgetCalls();
    world.services.patch('web', { spec: { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] } });
    world.services.patchStatus('web', { status: { loadBalancer: { ingress: null } } });
    world.services.create('other');
    await world.clock.advance(700_000);
    assert.ok(world.services.condition('other'));
    replica.kube.forgetCalls();
    world.services.delete('web');
    await world.clock.advance(700_000);
    assert.equal(world.mutationCount(), before + 2);
    assert.deepEqual(replica.kube.writes(), []);
    assert.deepEqual(replica.reasons('web').length, events);
    world.services.annotate('web', { [annotations.paused]: null });
    await world.clock.advance(10_000);
    assert.equal(world.services.get('web'), undefined);
    assertConverged(world, 'resumed');
  });

  it('serves after a change of leader though the first reads are dropped', async () => {
    await replica.stop();
    let dropped = 0;
    const clusterUid = async () => {
      dropped += 1;
      if (dropped <= 3) throw new Error('socket hang up');
      return world.clusterUid;
    };
    const next = world.replica({ task: { clusterUid } });
    await next.start();
    world.services.create('other');
    await world.clock.advance(30_000);
    assert.equal(dropped, 4);
    assertConverged(world, 'after dropped reads');
  });

  it('makes no change while everything is paused, and goes on by itself afterwards', async () => {
    replica.paused = true;
    const before = world.mutationCount();
    replica.kube.forgetCalls();
    world.services.patch('web', { spec: { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] } });
    world.services.create('other');
    world.services.create('third', { spec: { type: 'ClusterIP' } });
    await world.clock.advance(60_000);
    assert.deepEqual([world.mutationCount(), replica.kube.writes()], [before, []]);
    replica.paused = false;
    await world.clock.advance(10_000);
    assertConverged(world, 'resumed');
  });

  it('ends before the next call when a pause comes in the middle', async () => {
    world.cloud.faults.add({ operation: 'addresses.create', effect: { kind: 'latency', ms: 1000 } });
    world.services.create('other');
    await world.clock.advance(500);
    world.services.annotate('other', { [annotations.paused]: 'true' });
    const before = world.services.must('other').metadata.resourceVersion;
    await world.clock.advance(60_000);
    assert.equal(world.loadBalancers().length, 1);
    assert.equal(world.services.must('other').metadata.resourceVersion, before);
    world.services.annotate('other', { [annotations.paused]: null });
    await world.clock.advance(60_000);
    assertConverged(world, 'resumed');
  });

  it('ends with a pause during a cloud call, though the call fails', async () => {
    world.cloud.faults.add({ operation: 'addresses.create', effect: { kind: 'silence' } });
    world.services.create('slow');
    await world.clock.advance(2000);
    world.services.annotate('slow', { [annotations.paused]: 'true' });
    const before = world.services.must('slow').metadata.resourceVersion;
    await world.clock.advance(60_000);
    assert.equal(world.services.must('slow').metadata.resourceVersion, before);
  });

  it('creates nothing again for a Service that is gone, though the cache still has it', async () => {
    await world.clock.advance(10_000);
    replica.kube.hold();
    await replica.stopLeading();
    const other = world.replica();
    await other.start();
    world.services.delete('web');
    await world.clock.advance(30_000);
    assert.equal(world.services.get('web'), undefined);
    await other.stop();
    const changes = world.mutationCount();
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual(world.loadBalancers(), []);
    assert.equal(world.mutationCount(), changes);
    replica.kube.release();
  });

  it('ends before a call that waits when a pause or a lost lease comes', async () => {
    world.services.create('other');
    world.services.create('third');
    world.holdCalls(2000);
    await world.clock.advance(1000);
    const before = world.mutationCount();
    world.services.annotate('other', { [annotations.paused]: 'true' });
    await world.clock.advance(1500);
    // That of `third` alone.
    assert.equal(world.mutationCount(), before + 1);
    replica.leaseMs = 100;
    await world.clock.advance(5000);
    assert.equal(world.mutationCount(), before + 1);
    replica.leaseMs = 15_000;
    await world.clock.advance(10_000);
    assert.ok(world.loadBalancerOf('third'));
    assert.equal(world.loadBalancerOf('other'), undefined);
    world.services.annotate('other', { [annotations.paused]: null });
    await world.clock.advance(40_000);
    assertConverged(world, 'resumed');
  });

  it('ends before the claim when a pause is not in the cache yet', async () => {
    world.services.create('other', { spec: { type: 'ClusterIP' } });
    await world.clock.advance(1000);
    world.services.patch('other', { spec: { type: 'LoadBalancer' } });
    replica.kube.intercept = ({ verb }) => {
      if (verb !== 'patch') return;
      replica.kube.intercept = undefined;
      world.services.annotate('other', { [annotations.paused]: 'true' });
    };
    await world.clock.advance(10_000);
    assert.equal(world.services.must('other').metadata.finalizers, undefined);
    assert.equal(world.loadBalancers().length, 1);
  });

  it('changes nothing while the lease of the leader is about to run out', async () => {
    replica.leaseMs = 500;
    const before = world.mutationCount();
    replica.kube.forgetCalls();
    world.services.create('other');
    world.services.delete('web');
    await world.clock.advance(30_000);
    assert.equal(world.mutationCount(), before);
    assert.deepEqual(world.services.must('other').metadata.finalizers, undefined);
    replica.leaseMs = 15_000;
    await world.clock.advance(10_000);
    assertConverged(world, 'leads again');
  });

  it('lets a running call finish at the end of the term, and the next leader continues there', async () => {
    world.cloud.faults.add({ operation: 'load-balancers.create', effect: { kind: 'latency', ms: 4000 }, times: 1 });
    world.services.create('other');
    await world.clock.advance(1000);
    await replica.stopLeading();
    assert.equal(world.cloud.calls.total('load-balancers.create'), 2);
    const next = world.replica();
    await next.start();
    await world.clock.advance(20_000);
    assertConverged(world, 'next leader');
  });
});

describe('the order of Services', () => {
  it('never has one Service at work twice at once', async () => {
    const world = createWorld();
    world.cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: 200, jitterMs: 500 } });
    const replica = world.replica();
    world.node('n0');
    await replica.start();
    await world.clock.advance(2000);
    for (let round = 0; round < 20; round += 1) {
      const ports = [{ name: 'http', port: 80 + round, protocol: 'TCP' }];
      if (world.services.get('web') === undefined) world.services.create('web', { spec: { ports } });
      else if (round % 5 === 4) world.services.delete('web');
      else if (world.services.must('web').metadata.deletionTimestamp === undefined)
        world.services.patch('web', { spec: { ports } });
      if (round % 4 === 0) world.node(`extra-${round}`);
      await world.clock.advance(700);
    }
    await world.clock.advance(120_000);
    if (world.services.get('web') === undefined) world.services.create('web');
    await world.clock.advance(60_000);
    assertConverged(world, 'calm again');
    // Two at once would meet each other's revisions.
    const conflicts = Object.values(world.cloud.calls.snapshot()).reduce((sum, codes) => sum + (codes['409'] ?? 0), 0);
    assert.equal(conflicts, 0);
    await world.close();
  });

  it('puts a changed Service before those that are only audited', async () => {
    const world = createWorld({ task: { concurrentServiceSyncs: 2 } });
    world.node('n0');
    const first = world.replica();
    await first.start();
    for (let index = 0; index < 40; index += 1) world.services.create(`s${String(index).padStart(2, '0')}`);
    await world.clock.advance(60_000);
    world.cloud.faults.add({ operation: '*', effect: { kind: 'latency', ms: 500 } });
    world.node('n1');
    await world.clock.advance(3000);
    world.services.patch('s39', { spec: { ports: [{ name: 'http', port: 81, protocol: 'TCP' }] } });
    const changedMs = world.clock.monotonic();
    const isChanged = () => world.loadBalancerOf('s39')?.listeners[0]?.port === 81;
    for (let tries = 0; tries < 60 && !isChanged(); tries += 1) await world.clock.advance(100);
    assert.ok(isChanged(), `not within ${world.clock.monotonic() - changedMs} ms`);
    await world.close();
  });
});
