import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations, finalizers } from '../../common/well-known.ts';
import { createClassic } from './harness/classic-service.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

const cleanup = finalizers.loadBalancerCleanup;
/** Of the cloud's classic controller, and of a controller that goes on working beside. */
const [classic, other] = ['classic.example.com/v1', 'classic.example.com/v2'];

describe('a Service with a finalizer of the cloud’s classic controller', () => {
  let world: World;
  let replica: Replica;
  beforeEach(() => {
    world = createWorld({ through: (loadBalancers) => ({ ...loadBalancers, classicFinalizers: [classic] }) });
    for (const name of ['n0', 'n1']) world.node(name);
  });
  afterEach(() => world.close());

  async function start(adopts: boolean): Promise<void> {
    replica = world.replica({ task: { adopts } });
    await replica.start();
    await world.clock.advance(10_000);
  }
  const held = (name = 'web') => [...(world.services.get(name)?.metadata.finalizers ?? [])].sort();
  const reason = () => world.services.condition('web')?.reason;

  for (const [what, before] of [
    ['alone', [classic]],
    ['beside that of the framework', [cleanup, classic]],
  ] as const) {
    it(`adopts a Service whose classic finalizer stands ${what}, without a change in the cloud`, async () => {
      await createClassic(world, 'web', { finalizers: before });
      const sent = world.mutationCount();
      await start(true);
      assert.equal(reason(), 'Ensured');
      assert.deepEqual(held(), [classic, cleanup].sort());
      assert.equal(world.mutationCount(), sent);
    });

    it(`deletes the load balancer of a Service adopted with the classic finalizer ${what}`, async () => {
      await createClassic(world, 'web', { finalizers: before });
      await start(true);
      world.services.delete('web');
      await world.clock.advance(60_000);
      assert.deepEqual([world.loadBalancers(), world.services.get('web')], [[], undefined]);
    });

    it(`deletes the load balancer of a Service deleted before, with the classic finalizer ${what}`, async () => {
      await createClassic(world, 'web', { finalizers: before });
      world.services.delete('web');
      await start(true);
      await world.clock.advance(60_000);
      assert.deepEqual([world.loadBalancers(), world.services.get('web')], [[], undefined]);
    });

    it(`keeps it until it is taken over, also while it is deleted, ${what}`, async () => {
      await createClassic(world, 'web', { finalizers: before });
      await start(false);
      assert.equal(reason(), 'AdoptionRequired');
      world.services.delete('web');
      await world.clock.advance(700_000);
      assert.deepEqual([held(), world.loadBalancers().length, reason()], [[...before].sort(), 1, 'AdoptionRequired']);
    });
  }

  it('loses it when it gets another type after it was taken over', async () => {
    await createClassic(world, 'web', { finalizers: [cleanup, classic] });
    await start(true);
    world.services.patch('web', { spec: { type: 'ClusterIP' } });
    await world.clock.advance(60_000);
    assert.deepEqual([world.loadBalancers(), held(), reason()], [[], [], undefined]);
  });

  it('loses it with the load balancer also when the record no longer says that it was taken over', async () => {
    await createClassic(world, 'web', { finalizers: [cleanup, classic] });
    await start(true);
    world.node('n2');
    await world.clock.advance(60_000);
    assert.doesNotMatch(world.services.must('web').metadata.annotations?.[annotations.loadBalancer] ?? '', /adopted:/);
    world.services.delete('web');
    await world.clock.advance(60_000);
    assert.equal(world.services.get('web'), undefined);
  });

  it('keeps the finalizers of other controllers', async () => {
    await createClassic(world, 'web', { finalizers: [cleanup, classic, other] });
    await start(true);
    world.services.delete('web');
    await world.clock.advance(60_000);
    assert.deepEqual([world.loadBalancers(), held()], [[], [other]]);
  });

  for (const adopts of [true, false])
    it(`creates nothing for a classic Service without address ${adopts ? 'with' : 'without'} --adopt`, async () => {
      world.services.create('web', { finalizers: [classic] });
      await start(adopts);
      assert.deepEqual([held(), world.mutationCount(), reason()], [[classic], 0, 'AdoptionRequired']);
      assert.match(world.services.condition('web')?.message ?? '', /take off the finalizer classic\.example\.com\/v1/);
    });

  it('leaves a Service with a classic finalizer and the class of another controller alone', async () => {
    world.services.create('web', { spec: { loadBalancerClass: 'example.com/other' }, finalizers: [classic] });
    await start(true);
    world.services.delete('web');
    await world.clock.advance(700_000);
    assert.deepEqual(held(), [classic]);
    assert.deepEqual([replica.kube.writes(), replica.events, world.mutationCount()], [[], [], 0]);
  });

  it('keeps it where its class has become that of another controller, which may be the classic one', async () => {
    await createClassic(world, 'web', { finalizers: [cleanup, classic] });
    await start(true);
    await replica.stop();
    world.services.patch('web', { spec: { type: 'ClusterIP' } });
    world.services.patch('web', { spec: { type: 'LoadBalancer', loadBalancerClass: 'example.com/other' } });
    await start(true);
    await world.clock.advance(60_000);
    assert.deepEqual([world.loadBalancers(), held()], [[], [classic]]);
  });
});

describe('a Service of another type', () => {
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    world = createWorld();
    replica = world.replica({ task: { adopts: true } });
    await replica.start();
  });
  afterEach(() => world.close());
  const condition = () => world.services.condition('web');

  it('keeps the finalizer of a controller, which is said after five minutes', async () => {
    world.services.create('web', { finalizers: [cleanup], spec: { type: 'ClusterIP' } });
    await world.clock.advance(290_000);
    world.services.delete('web');
    assert.deepEqual([replica.kube.writes(), replica.events], [[], []]);
    await world.clock.advance(20_000);
    assert.equal(condition()?.reason, 'AdoptionRequired');
    assert.match(condition()?.message ?? '', /delete that, and take off the finalizer service\.kubernetes\.io/);
    assert.deepEqual(replica.reasons('web'), ['SyncLoadBalancerFailed']);
    assert.deepEqual([world.services.must('web').metadata.finalizers, world.mutationCount()], [[cleanup], 0]);
  });

  for (const [what, finalizers] of [
    ['at once where it told of an adoption before, until the finalizer is gone', [cleanup]],
    ['never where it has no finalizer, and loses what it told before', []],
  ] as const)
    it(`tells of it ${what}`, async () => {
      world.services.create('web', { finalizers });
      world.services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.5' }] } } });
      await world.clock.advance(5000);
      assert.equal(condition()?.reason, 'AdoptionRequired');
      world.services.patch('web', { spec: { type: 'ClusterIP' } });
      await world.clock.advance(5000);
      if (finalizers.length > 0) assert.match(condition()?.message ?? '', /take off the finalizer/);
      world.services.patch('web', { metadata: { finalizers: null } });
      await world.clock.advance(5000);
      assert.equal(condition(), undefined);
    });
});
