import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { a4, b4, routeStage } from './harness/route-stage.ts';

describe('pod routes while the cluster changes', () => {
  const begin = routeStage();

  it('deletes a route at once whose Node went during its creation', async () => {
    const { world, replica, creations } = begin();
    await replica.start();
    world.cloud.faults.add({ operation: 'routes.create', effect: { kind: 'latency', ms: 5000 } });
    world.add('a', [a4]);
    await world.clock.advance(1000);
    world.cluster.remove('a');
    await world.clock.advance(3000);
    assert.deepEqual(world.table(), []);
    await world.clock.advance(20_000);
    assert.equal(creations(), 1);
    assert.deepEqual(world.table(), []);
  });

  it('keeps a route whose Node comes back during the last read', async () => {
    const { world, replica } = begin();
    const vm = world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    const mutations = world.mutations();
    world.cloud.faults.add({ operation: 'instances.*', effect: { kind: 'latency', ms: 3000 } });
    world.cluster.remove('a');
    await world.clock.advance(2000);
    world.cluster.register('a', { tainted: false, providerID: `simulated://sim-1/${vm.id}` });
    world.setPodCIDRs('a', [a4]);
    await world.clock.advance(60_000);
    assert.equal(world.mutations(), mutations);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('keeps a route whose Node comes back while it waits to be deleted', async () => {
    const { world, replica } = begin({ concurrentRoutes: 1, budget: '10/10m' });
    const vms = ['a', 'b'].map((name, at) => ({ name, range: [a4, b4][at]!, vm: world.add(name, [[a4, b4][at]!]) }));
    await replica.start();
    await world.clock.advance(60_000);
    const before = world.routes().map(({ id }) => id);
    world.cloud.faults.add({ operation: 'routes.delete', effect: { kind: 'latency', ms: 1000 } });
    for (const { name } of vms) world.cluster.remove(name);
    // The first removal begins after the debounce and takes a second; the second one would begin right after it.
    await world.clock.advance(1100);
    for (const { name, vm, range } of vms) {
      world.cluster.register(name, { tainted: false, providerID: `simulated://sim-1/${vm.id}` });
      world.setPodCIDRs(name, [range]);
    }
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> a`, `${b4} -> b`]);
    assert.equal(world.cloud.calls.total('routes.delete'), 1);
    assert.equal(world.routes().filter(({ id }) => before.includes(id)).length, 1);
  });

  it('leaves a foreign replacement that came since the last read when the Node goes', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    const other = world.cloud.model.create({ name: 'router' });
    world.loseRoutes();
    world.foreignRoute(a4, other);
    world.cluster.remove('a');
    await world.clock.advance(400_000);
    assert.deepEqual(world.table(), [`${a4} -> router`]);
  });

  it('follows a changed address at the next read, which comes at once', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    const reads = world.reads();
    const { addresses = [] } = world.cluster.mustNode('a').status;
    world.cluster.setAddresses('a', [...addresses, { type: 'InternalIP', address: '10.9.9.9' }]);
    await world.clock.advance(15_000);
    assert.equal(world.reads(), reads + 1);
  });
});
