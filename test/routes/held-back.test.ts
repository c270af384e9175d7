import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { a4, routeStage } from './harness/route-stage.ts';

describe('pod routes while changes are not allowed', () => {
  const begin = routeStage();

  it('changes no route of a paused Node, and follows afterwards', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: 'true' } } });
    await replica.start();
    await world.clock.advance(600_000);
    assert.deepEqual(world.table(), []);
    assert.deepEqual(replica.writes(), []);
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: null } } });
    await world.clock.advance(2000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('changes no route while everything is paused, and follows afterwards', async () => {
    const { world, replica } = begin();
    replica.base.paused = true;
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), []);
    replica.base.paused = false;
    await world.clock.advance(4000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
  });

  it('changes no route while the lease of the replica runs out', async () => {
    const { world, replica } = begin();
    replica.fenced = true;
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(30_000);
    assert.deepEqual(world.table(), []);
    replica.fenced = false;
    await world.clock.advance(3000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
  });

  it('stops creating routes within two seconds when a person pauses everything in the middle', async () => {
    const { world, replica, creations } = begin({ concurrentRoutes: 1 });
    world.addMany(50);
    world.cloud.faults.add({ operation: 'routes.create', effect: { kind: 'latency', ms: 100 } });
    await replica.start();
    await world.clock.advance(1500);
    replica.base.paused = true;
    await world.clock.advance(2000);
    const [made, writes] = [creations(), replica.writes().length];
    assert.ok(made > 5 && made < 50);
    await world.clock.advance(600_000);
    assert.deepEqual([creations(), replica.writes().length], [made, writes]);
    replica.base.paused = false;
    await world.clock.advance(20_000);
    assert.equal(world.routes().length, 50);
  });

  it('creates no route for a Node that is paused while its route waits for the next try', async () => {
    const { world, replica, creations } = begin();
    world.add('a', [a4]);
    world.cloud.faults.add({ operation: 'routes.create', effect: { kind: 'error', status: 500 } });
    await replica.start();
    await world.clock.advance(10_000);
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: 'true' } } });
    await world.clock.advance(1000);
    const made = creations();
    world.cloud.faults.clear();
    await world.clock.advance(600_000);
    assert.equal(creations(), made);
    assert.deepEqual(world.table(), []);
  });
});
