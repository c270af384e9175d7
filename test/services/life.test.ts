import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations, finalizers } from '../../common/well-known.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

describe('the life of a load balancer', () => {
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    world = createWorld();
    replica = world.replica();
    world.node('n0');
    world.node('n1');
    await replica.start();
  });
  afterEach(() => world.close());

  it('begins with the finalizer and a record, before the first call to the cloud', async () => {
    const order: string[] = [];
    replica.kube.intercept = (call) => {
      if (call.verb === 'patch') order.push(`${JSON.stringify(call.body)} calls=${world.mutationCount()}`);
    };
    world.services.create('web');
    await world.clock.advance(1000);
    assert.match(order[0] ?? '', /load-balancer-cleanup.*pending.* calls=0/);
    const { metadata, status } = world.services.must('web');
    assert.deepEqual(metadata.finalizers, [finalizers.loadBalancerCleanup]);
    assert.match(metadata.annotations?.[annotations.loadBalancer] ?? '', new RegExp(`^${world.scope} lb-`));
    assert.equal(status.loadBalancer.ingress?.length, 1);
  });
});
