import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { taints } from '../../common/well-known.ts';
import { assertConverged } from './harness/converged.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

describe('a cloud that refuses every member of a Service at once', () => {
  let world: World;
  let replica: Replica;
  let isRefusing: boolean;
  beforeEach(async () => {
    isRefusing = false;
    world = createWorld({
      through: (loadBalancers) => ({
        ...loadBalancers,
        async apply(plan, options) {
          const subjects = plan.request.desired?.members.map(({ providerID }) => providerID) ?? [];
          if (isRefusing && subjects.length > 0) {
            const answer = { kind: 'Invalid', operation: 'set members', message: 'no such instances' } as const;
            throw new CloudError({ ...answer, cloud: 'simulated', subjects });
          }
          return loadBalancers.apply(plan, options);
        },
      }),
    });
    for (const name of ['a', 'b', 'c']) world.node(name);
    replica = world.replica();
    await replica.start();
  });
  afterEach(() => world.close());

  const members = () => world.loadBalancerOf('web')?.pools[0]?.members.length;

  it('changes no member of a load balancer that has some, and the condition says so', async () => {
    world.services.create('web');
    await world.clock.advance(5000);
    isRefusing = true;
    world.node('d');
    await world.clock.advance(5000);
    assert.equal(members(), 3);
    const { status, reason, message } = world.services.condition('web')!;
    assert.deepEqual([status, reason], ['False', 'RefusedByCloud']);
    assert.match(message, /no such instances; it refuses all members, so that those of the load balancer stay/);
    await world.clock.advance(600_000);
    assert.equal(members(), 3);
    isRefusing = false;
    await world.clock.advance(300_000);
    assert.equal(members(), 4);
    assertConverged(world, 'the answers are right again');
  });

  it('removes members that drain, although no other is left', async () => {
    world.services.create('web');
    await world.clock.advance(5000);
    isRefusing = true;
    const mark = { spec: { taints: [{ key: taints.toBeDeletedByAutoscaler, effect: 'NoSchedule' }] } };
    for (const name of ['a', 'b', 'c']) world.cluster.mergePatch(name, mark);
    await world.clock.advance(300_000);
    assert.equal(members(), 0);
    assert.equal(world.services.condition('web')?.reason, 'NoMembers');
  });

  it('creates a load balancer without members, whose address the Service shows', async () => {
    isRefusing = true;
    world.services.create('web');
    await world.clock.advance(5000);
    assert.equal(members(), 0);
    assert.equal(world.services.addresses('web').length, 1);
    assert.equal(world.services.condition('web')?.reason, 'MembersRefused');
  });
});
