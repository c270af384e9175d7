import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations, finalizers } from '../../common/well-known.ts';
import { classicTags } from '../../controller/clouds/simulated/adoption.ts';
import type { SimulatedLoadBalancer } from '../kit/cloud/load-balancer.ts';
import { type ClassicChanges, createClassic } from './harness/classic-service.ts';
import { assertConverged } from './harness/converged.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

const cleanup = finalizers.loadBalancerCleanup;

describe('a load balancer of the classic controller with --adopt', () => {
  let world: World;
  beforeEach(() => {
    world = createWorld();
    for (const name of ['n0', 'n1']) world.node(name);
  });
  afterEach(() => world.close());

  const classic = (name?: string, changes?: ClassicChanges) => createClassic(world, name, changes);

  function theOne(): SimulatedLoadBalancer {
    const [one, ...more] = world.loadBalancers();
    assert.ok(one);
    assert.deepEqual(more, []);
    return one;
  }

  const recordOf = (name: string) =>
    world.services.must(name).metadata.annotations?.[annotations.loadBalancer]?.split(' notes:')[0];

  async function start(adopts: boolean): Promise<Replica> {
    const replica = world.replica({ task: { adopts } });
    await replica.start();
    await world.clock.advance(10_000);
    return replica;
  }

  it('adopts a load balancer without a change in the cloud', async () => {
    const id = await classic();
    const before = world.mutationCount();
    const [address] = world.services.addresses('web');
    const replica = await start(true);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    assert.equal(recordOf('web'), `${world.scope} ${id} adopted:${address}`);
    assert.deepEqual(world.services.addresses('web'), [address]);
    const events = ['EnsuringLoadBalancer', 'AdoptedLoadBalancer', 'EnsuredLoadBalancer'];
    assert.deepEqual(replica.reasons('web'), events);
    assert.equal(world.mutationCount(), before);
    await world.clock.advance(3_600_000);
    assert.equal(world.mutationCount(), before);
    assert.deepEqual(replica.reasons('web'), events);
  });

  it('gets our tags with the first change that it needs', async () => {
    const id = await classic();
    const replica = await start(true);
    world.node('n2');
    await world.clock.advance(60_000);
    assertConverged(world, 'one node more');
    assert.equal(theOne().id, id);
    assert.deepEqual(
      new Set(theOne().listeners.map(({ tags }) => tags['mooring.dev/cluster'])),
      new Set(['cluster-1']),
    );
    const before = world.mutationCount();
    await replica.stop();
    const next = await start(false);
    assert.equal(world.mutationCount(), before);
    assert.deepEqual(next.kube.writes(), []);
  });

  it('serves an adopted load balancer after a restart without the flag', async () => {
    const id = await classic();
    await (await start(true)).stop();
    const before = world.mutationCount();
    const next = await start(false);
    assert.equal(world.mutationCount(), before);
    assert.deepEqual(next.kube.writes(), []);
    world.node('n2');
    await world.clock.advance(60_000);
    assertConverged(world, 'one node more');
    assert.equal(theOne().id, id);
  });

  it('restores the status of a Service from its adopted load balancer', async () => {
    const id = await classic();
    const addresses = world.services.addresses('web');
    await (await start(true)).stop();
    world.services.patchStatus('web', { status: { loadBalancer: { ingress: null } } });
    const before = world.mutationCount();
    await start(false);
    assert.deepEqual(world.services.addresses('web'), addresses);
    assert.equal(theOne().id, id);
    assert.equal(world.mutationCount(), before);
  });

  for (const flag of [true, false])
    it(`deletes an adopted load balancer with its Service, ${flag ? 'with' : 'also without'} the flag`, async () => {
      await classic();
      const first = await start(true);
      if (!flag) {
        await first.stop();
        await start(false);
      }
      world.services.delete('web');
      await world.clock.advance(60_000);
      assert.deepEqual(world.loadBalancers(), []);
      assert.deepEqual([...world.cloud.network.addresses.store.all()], []);
      assert.equal(world.services.get('web'), undefined);
    });

  it('deletes a load balancer with a Service that was deleted before the adoption', async () => {
    await classic();
    world.services.delete('web');
    await start(false);
    assert.equal(world.loadBalancers().length, 1);
    assert.ok(world.services.get('web'));
    await start(true);
    await world.clock.advance(60_000);
    assert.deepEqual(world.loadBalancers(), []);
    assert.equal(world.services.get('web'), undefined);
  });

  it('leaves a load balancer alone without the flag, and says in the condition how to adopt', async () => {
    await classic();
    const before = world.mutationCount();
    await start(false);
    const condition = world.services.condition('web');
    assert.equal(condition?.reason, 'AdoptionRequired');
    assert.match(condition?.message ?? '', /--adopt/);
    assert.equal(recordOf('web'), undefined);
    assert.equal(world.mutationCount(), before);
  });

  const strangers: Readonly<Record<string, () => Promise<unknown>>> = {
    'has another name': () => classic('web', { name: 'kube-service-red-default-web' }),
    'has the tags of another cluster': () => classic('web', { tags: { [classicTags.cluster]: 'red' } }),
    'is of another Service': () => classic('web', { tags: { [classicTags.service]: 'default/other' } }),
    'is marked by another cluster of ours': () => classic('web', { tags: { 'mooring.dev/cluster': 'cluster-2' } }),
    async 'has another address than the status shows'() {
      await classic();
      world.services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.99' }] } } });
    },
    async 'has no address in a status that could prove it'() {
      await classic();
      world.services.patchStatus('web', { status: { loadBalancer: { ingress: null } } });
    },
    async 'is of a Service without the finalizer'() {
      await classic();
      world.services.patch('web', { metadata: { finalizers: null } });
    },
  };
  for (const [why, prepare] of Object.entries(strangers))
    it(`leaves a load balancer alone that ${why}`, async () => {
      await prepare();
      const before = world.mutationCount();
      const finalizer = world.services.must('web').metadata.finalizers;
      await start(true);
      assert.equal(world.services.condition('web')?.reason, 'AdoptionRequired');
      assert.equal(world.mutationCount(), before);
      world.services.delete('web');
      await world.clock.advance(700_000);
      assert.equal(world.mutationCount(), before);
      assert.equal(world.loadBalancers().length, 1);
      assert.deepEqual(world.services.get('web')?.metadata.finalizers, finalizer);
    });

  it('keeps an adopted load balancer, and makes no second one, when the status shows another address', async () => {
    await classic();
    await (await start(true)).stop();
    const before = world.mutationCount();
    const one = theOne();
    world.services.patchStatus('web', { status: { loadBalancer: { ingress: [{ ip: '203.0.113.99' }] } } });
    await start(false);
    assert.equal(world.services.condition('web')?.reason, 'AdoptionRequired');
    world.services.delete('web');
    await world.clock.advance(700_000);
    assert.equal(world.mutationCount(), before);
    assert.equal(theOne().id, one.id);
    assert.deepEqual(world.services.must('web').metadata.finalizers, [cleanup]);
  });

  it('creates an adopted load balancer again that was removed by hand', async () => {
    const id = await classic();
    const replica = await start(true);
    await replica.stop();
    world.cloud.network.loadBalancers.forget(id);
    for (const { id: address } of world.cloud.network.addresses.store.all())
      world.cloud.network.addresses.forget(address);
    await start(false);
    await world.clock.advance(700_000);
    assertConverged(world, 'created again');
    assert.notEqual(theOne().id, id);
  });

  it('adopts a load balancer whole wherever the leader dies while it tags it', async () => {
    for (let call = 1, died = true; died; call += 1)
      for (const moment of ['before', 'unanswered'] as const) {
        await world.close();
        world = createWorld();
        for (const name of ['n0', 'n1']) world.node(name);
        const id = await classic();
        await (await start(true)).stop();
        const mortal = world.replica({ death: { call, moment } });
        await mortal.start();
        world.node('n2');
        await world.clock.advance(60_000);
        died = mortal.life.dead;
        await mortal.stop();
        await start(false);
        await world.clock.advance(60_000);
        assertConverged(world, `death ${moment} call ${call}`);
        assert.equal(theOne().id, id);
      }
  });
});
