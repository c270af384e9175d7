import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { a4, routeStage } from './harness/route-stage.ts';

describe('pod routes while changes are held back', () => {
  const begin = routeStage();

  it('are left as they are while the Node is paused, and followed up when it is not', async () => {
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

  it('are left as they are while everything is paused', async () => {
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

  it('are not changed by a replica whose lease runs out', async () => {
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

  it('are only talked about in a dry run, once', async () => {
    const { world, replica } = begin({ dryRun: true });
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(1_200_000);
    assert.equal(world.mutations(), 0);
    assert.deepEqual(replica.writes(), []);
    assert.equal(replica.logged.filter((line) => line.includes('would change')).length, 1);
  });
});
