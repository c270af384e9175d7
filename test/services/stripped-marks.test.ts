import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createWorld, type Replica, type World } from './harness/world.ts';

describe('a load balancer whose marks were taken off by hand, in a new process', () => {
  let world: World;
  let replica: Replica;
  let id: string;
  let marks: Readonly<Record<string, string>>;
  beforeEach(async () => {
    world = createWorld();
    replica = world.replica();
    world.node('n0');
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
    id = world.loadBalancerOf('web')!.id;
    await replica.stop();
    const { loadBalancers, addresses } = world.cloud.network;
    // Neither its marks nor its name nor its address show whose it is.
    loadBalancers.stripTags(id);
    loadBalancers.update(id, { name: 'renamed' });
    for (const { id: address, tags } of addresses.store.all()) {
      marks = tags;
      addresses.setTags(address, {});
    }
    replica = world.replica();
  });
  afterEach(() => world.close());

  it('stays, and is named in the condition', async () => {
    await replica.start();
    await world.clock.advance(60_000);
    const { reason, message } = world.services.condition('web')!;
    assert.equal(reason, 'ForeignLoadBalancer');
    assert.match(message, new RegExp(`${id} is recorded and carries no mark`));
    assert.deepEqual(replica.reasons('web'), ['SyncLoadBalancerFailed']);
  });

  for (const [what, prepare] of [
    ['with all marks taken off', () => undefined],
    [
      'beside an address that still has them and goes',
      () => world.cloud.network.addresses.reserve('demo/sim-1', { scheme: 'external', family: 'IPv4', tags: marks }),
    ],
  ] as const)
    it(`leaves it standing when its Service is deleted, ${what}, and names it in the event`, async () => {
      prepare();
      world.services.delete('web');
      await replica.start();
      await world.clock.advance(60_000);
      assert.equal(world.services.get('web'), undefined);
      assert.ok(world.loadBalancers().some((one) => one.id === id));
      const ours = [...world.cloud.network.addresses.store.all()].filter(({ tags }) => Object.keys(tags).length > 0);
      assert.deepEqual(ours, []);
      const gaveUp = `Gave up load balancer ${id}, which carries no mark of this Service and stays`;
      assert.equal(replica.lastEvent('web'), gaveUp);
    });
});
