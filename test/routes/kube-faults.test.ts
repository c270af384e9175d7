import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { a4, routeStage } from './harness/route-stage.ts';

describe('pod routes while the Kubernetes API fails', () => {
  const begin = routeStage();

  it('keeps a route while the Kubernetes API refuses the condition, and writes that once it can', async () => {
    const { world, replica, creations } = begin();
    world.add('a', [a4]);
    let broken = true;
    replica.base.kube.intercept = (call) => {
      if (broken && call.verb === 'patch') throw new Error('injected');
    };
    await replica.start();
    await world.clock.advance(30_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), undefined);
    broken = false;
    await world.clock.advance(120_000);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.equal(creations(), 1);
  });

  it('reads the Node once more, and loses no condition, when a heartbeat comes in between', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    let beats = 0;
    replica.base.kube.intercept = (call) => {
      if (call.verb === 'patch' && beats < 1) {
        beats += 1;
        world.cluster.heartbeat('a');
      }
    };
    await replica.start();
    await world.clock.advance(5000);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.equal(replica.writes().length, 2);
  });
});
