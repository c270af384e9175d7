import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { a4, b4, c4, routeStage } from './harness/route-stage.ts';

describe('ownership of pod routes', () => {
  const begin = routeStage();

  it('leaves foreign routes alone, and tells a Node once whose range they take', async () => {
    const { world, replica, events } = begin();
    const other = world.cloud.model.create({ name: 'router' });
    world.add('a', [a4]);
    world.add('b', [b4]);
    world.foreignRoute(a4, other);
    world.foreignRoute(c4, other);
    world.foreignRoute('192.168.0.0/24', other);
    await replica.start();
    await world.clock.advance(900_000);
    assert.deepEqual(world.table(), [`${a4} -> router`, `${b4} -> b`, `${c4} -> router`, '192.168.0.0/24 -> router']);
    assert.equal(world.network('a'), 'True ForeignRoute');
    assert.equal(world.mutations(), 1);
    assert.deepEqual(events(), ['FailedToCreateRoute a']);
    assert.equal(await replica.metric('mooring_routes', `{scope="${world.scope}",state="foreign"}`), 1);
  });

  it('lets a route be created as soon as a read shows that the foreign one is gone', async () => {
    const { world, replica } = begin();
    const other = world.cloud.model.create({ name: 'router' });
    world.add('a', [a4]);
    const foreign = world.foreignRoute(a4, other);
    await replica.start();
    await world.clock.advance(10_000);
    world.cloud.network.routes.delete(foreign.id);
    await world.clock.advance(300_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('keeps the route of the first of two Nodes with one range', async () => {
    const { world, replica, events } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(2000);
    world.add('b', [a4]);
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
    assert.equal(world.network('b'), 'True DuplicatePodCIDR');
    assert.deepEqual(events(), ['FailedToCreateRoute b']);
    assert.equal(world.mutations(), 1);
  });

  it('passes to the second Node when the first is gone', async () => {
    const { world, replica } = begin();
    const vm = world.add('a', [a4]);
    await replica.start();
    world.add('b', [a4]);
    await world.clock.advance(10_000);
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    await world.clock.advance(30_000);
    assert.deepEqual(world.table(), [`${a4} -> b`]);
    assert.equal(world.network('b'), 'False RouteCreated');
  });
});
