import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { finalizers } from '../../common/well-known.ts';
import { assertConverged } from './harness/converged.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

/** Upstream's own cases of its service controller, by behaviour; where we differ on purpose it says so. */
const cleanup = [finalizers.loadBalancerCleanup];

describe("upstream's syncLoadBalancerIfNeeded", () => {
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    world = createWorld();
    replica = world.replica();
    world.node('n0');
    await replica.start();
  });
  afterEach(() => world.close());

  const patches = () => replica.kube.writes().length;

  it('makes no call and no write for a ClusterIP Service', async () => {
    const calls = world.cloud.calls.total();
    world.services.create('web', { spec: { type: 'ClusterIP' } });
    await world.clock.advance(5000);
    assert.deepEqual([world.cloud.calls.total() - calls, patches()], [0, 0]);
  });

  for (const protocol of ['UDP', 'TCP', 'SCTP']) {
    it(`creates a ${protocol} load balancer with two patches`, async () => {
      world.services.create('web', { spec: { ports: [{ port: 80, protocol }] } });
      await world.clock.advance(5000);
      assertConverged(world, protocol);
      assert.equal(patches(), 2);
    });
  }

  it('makes no call for a Service with the class of another controller', async () => {
    const calls = world.cloud.calls.total();
    world.services.create('web', { spec: { loadBalancerClass: 'example.com/other' } });
    await world.clock.advance(5000);
    assert.deepEqual([world.cloud.calls.total() - calls, patches(), replica.events], [0, 0, []]);
  });

  it('deletes after a change to ClusterIP with one patch (upstream: two)', async () => {
    world.services.create('web');
    await world.clock.advance(5000);
    replica.kube.forgetCalls();
    world.services.patch('web', { spec: { type: 'ClusterIP' } });
    await world.clock.advance(5000);
    assertConverged(world, 'ClusterIP');
    assert.equal(patches(), 1);
  });

  it('deletes for a terminating Service with one patch (upstream: two)', async () => {
    world.services.create('web');
    await world.clock.advance(5000);
    replica.kube.forgetCalls();
    world.services.delete('web');
    await world.clock.advance(5000);
    assertConverged(world, 'deleted');
    assert.equal(patches(), 1);
  });

  it("asks for adoption when another controller's finalizer is there (upstream creates one)", async () => {
    world.services.create('web', { finalizers: cleanup });
    await world.clock.advance(5000);
    assert.equal(world.services.condition('web')?.reason, 'AdoptionRequired');
    assert.equal(world.loadBalancers().length, 0);
  });
});

describe("upstream's updates of hosts", () => {
  for (const [what, types, expected] of [
    ['none', [], 0],
    ['of another type', ['ClusterIP'], 0],
    ['one', ['LoadBalancer'], 1],
    ['three', ['LoadBalancer', 'LoadBalancer', 'LoadBalancer'], 3],
    ['mixed', ['LoadBalancer', 'ClusterIP', 'NodePort', 'LoadBalancer'], 2],
  ] as const) {
    it(`makes ${expected} calls for a new Node with Services ${what}`, async () => {
      const world = createWorld();
      const replica = world.replica();
      world.node('n0');
      await replica.start();
      for (const [index, type] of types.entries()) world.services.create(`s${index}`, { spec: { type } });
      await world.clock.advance(10_000);
      const before = world.mutationCount();
      world.node('n1');
      await world.clock.advance(20_000);
      assert.equal(world.mutationCount() - before, expected);
      assertConverged(world, what);
      await world.close();
    });
  }

  it('makes four calls for four Services with two workers', async () => {
    const world = createWorld({ task: { concurrentServiceSyncs: 2 } });
    const replica = world.replica();
    world.node('n0');
    await replica.start();
    for (let index = 0; index < 4; index += 1) world.services.create(`s${index}`);
    await world.clock.advance(10_000);
    const before = world.mutationCount();
    world.node('n1');
    await world.clock.advance(20_000);
    assert.equal(world.mutationCount() - before, 4);
    await world.close();
  });

  it('makes one call per Service for a burst of Nodes (upstream: at least two passes)', async () => {
    const world = createWorld();
    const replica = world.replica();
    world.node('n0');
    await replica.start();
    world.services.create('web');
    await world.clock.advance(10_000);
    const before = world.mutationCount();
    for (let index = 1; index < 20; index += 1) world.node(`n${index}`);
    await world.clock.advance(20_000);
    assert.equal(world.mutationCount() - before, 1);
    assertConverged(world, 'burst');
    await world.close();
  });

  it('makes no call for readiness, unrelated taints and labels', async () => {
    const world = createWorld();
    const replica = world.replica();
    world.node('n0');
    await replica.start();
    world.services.create('web');
    await world.clock.advance(10_000);
    const before = world.mutationCount();
    world.cluster.setReady('n0', 'False');
    world.cluster.setReady('n0', 'True');
    world.cluster.mergePatch('n0', { spec: { taints: [{ key: 'example.com/x', effect: 'NoSchedule' }] } });
    world.cluster.mergePatch('n0', { metadata: { labels: { a: 'b' } } });
    await world.clock.advance(20_000);
    assert.equal(world.mutationCount(), before);
    await world.close();
  });

  it('includes a Node that comes during a slow update', async () => {
    const world = createWorld();
    const replica = world.replica();
    world.node('n0');
    await replica.start();
    world.services.create('web');
    await world.clock.advance(10_000);
    world.cloud.faults.add({ operation: 'pools.set-members', effect: { kind: 'latency', ms: 8000 }, times: 1 });
    world.node('n1');
    await world.clock.advance(4000);
    world.node('n2');
    await world.clock.advance(30_000);
    assertConverged(world, 'slow update');
    await world.close();
  });
});

describe("upstream's errors and delays", () => {
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    world = createWorld();
    replica = world.replica();
    world.node('n0');
    await replica.start();
  });
  afterEach(() => world.close());

  it('ends a status write that always conflicts as an error, with an event once it lasts', async () => {
    world.services.create('web');
    await world.clock.advance(2000);
    const remove = world.core.faults.add({
      match: { verb: 'patch', resource: 'services/status', userAgent: 'mooring' },
      effect: { kind: 'answer', status: 409 },
    });
    world.services.patch('web', { spec: { ports: [{ port: 81, protocol: 'TCP' }] } });
    await world.clock.advance(60_000);
    assert.equal(world.loadBalancerOf('web')?.listeners[0]?.port, 81);
    remove();
    await world.clock.advance(60_000);
    assertConverged(world, 'conflicts over');
  });

  it('ignores a status write to a Service that is gone', async () => {
    replica.kube.intercept = ({ verb, body }) => {
      if (verb !== 'patch' || !JSON.stringify(body).includes('"ingress":[')) return;
      replica.kube.intercept = undefined;
      world.services.patch('web', { metadata: { finalizers: null } });
      world.services.delete('web');
    };
    world.services.create('web');
    await world.clock.advance(30_000);
    assert.equal(world.services.get('web'), undefined);
    assert.deepEqual(
      replica.events.filter(({ type }) => type === 'Warning'),
      [],
    );
    assertConverged(world, 'gone');
  });

  it('repeats no update that has succeeded', async () => {
    world.services.create('web');
    await world.clock.advance(2000);
    const calls = world.cloud.calls.total();
    await world.clock.advance(500_000);
    assert.equal(world.cloud.calls.total(), calls);
  });

  it('keeps a delay of 42 s that the cloud asks for, with no try in between', async () => {
    world.cloud.faults.add({
      operation: 'addresses.create',
      effect: { kind: 'error', status: 503, retryAfterSeconds: 42 },
      times: 1,
    });
    world.services.create('web');
    await world.clock.advance(41_000);
    assert.equal(world.cloud.calls.total('addresses.create'), 1);
    await world.clock.advance(15_000);
    assertConverged(world, 'after 42 s');
  });

  it('finds no work in the deletion of an unknown Service', async () => {
    const calls = world.cloud.calls.total();
    world.services.create('web', { spec: { loadBalancerClass: 'example.com/other' } });
    world.services.delete('web');
    await world.clock.advance(5000);
    assert.equal(world.cloud.calls.total(), calls);
  });
});
