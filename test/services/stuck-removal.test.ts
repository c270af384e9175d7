import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createWorld, type Replica, type World } from './harness/world.ts';

describe('the removal of a load balancer that every read shows, and no plan deletes', () => {
  let world: World;
  let replica: Replica;
  let isStuck: boolean;
  beforeEach(async () => {
    isStuck = true;
    world = createWorld({
      through: (loadBalancers) => ({
        ...loadBalancers,
        planRemoval(owner, options) {
          const plan = loadBalancers.planRemoval(owner, options);
          return isStuck ? { ...plan, steps: [], refusals: [], waitMs: undefined } : plan;
        },
      }),
    });
    replica = world.replica();
    world.node('n0');
    await replica.start();
    world.services.create('web');
    await world.clock.advance(2000);
  });
  afterEach(() => world.close());

  async function assertFewReads(): Promise<void> {
    const before = world.readCount();
    await world.clock.advance(600_000);
    assert.ok(world.readCount() - before <= 40, `${world.readCount() - before} reads`);
    assert.equal(world.loadBalancers().length, 1);
  }

  it('says in the condition what stays, reads it once a minute, and deletes it when a plan has steps', async () => {
    const { id } = world.loadBalancerOf('web')!;
    world.services.delete('web');
    await assertFewReads();
    assert.equal(world.services.condition('web')?.reason, 'AwaitingCloud');
    assert.match(world.services.condition('web')?.message ?? '', new RegExp(`shows load balancer ${id}.*no step`));
    isStuck = false;
    await world.clock.advance(120_000);
    assert.deepEqual([world.services.get('web'), world.loadBalancers()], [undefined, []]);
  });

  it('says in an event what stays where its Service is gone', async () => {
    world.services.delete('web');
    world.services.patch('web', { metadata: { finalizers: null } });
    await assertFewReads();
    assert.match(replica.lastEvent('web') ?? '', /^AwaitingCloud: the cloud shows load balancer/);
    assert.equal(replica.events.at(-1)?.reason, 'DeleteLoadBalancerFailed');
  });
});
