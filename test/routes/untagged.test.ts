import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditions } from '../../common/well-known.ts';
import { shippedObjects } from '../../controller/kube/shipped-objects.ts';
import { deleteObject, shipObject } from '../nodes/harness/shipped-objects.ts';
import { a4, b4, routeStage } from './harness/route-stage.ts';
import { untagged } from './harness/route-world.ts';

describe('where routes cannot be tagged', () => {
  const begin = routeStage();

  it('a route of a Node that went while nobody looked is still known as ours', async () => {
    const { world, replica: first } = begin({ like: untagged });
    const vm = world.add('a', [a4]);
    world.add('b', [b4]);
    await first.start();
    await world.clock.advance(10_000);
    await first.stop();
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    const next = world.routeReplica();
    await next.start();
    await world.clock.advance(10_000);
    assert.deepEqual(world.table(), [`${b4} -> b`]);
  });

  it('a Node says that its route cannot be recorded without the ConfigMap, and gets it afterwards', async () => {
    const { world, replica } = begin({ like: untagged });
    deleteObject(world.core, shippedObjects.routeRecords);
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(30_000);
    assert.deepEqual(world.table(), []);
    assert.equal(world.network('a'), 'True NoRouteCreated');
    const { message } = world.cluster.condition('a', conditions.networkUnavailable) ?? assert.fail();
    assert.match(message, /could not be recorded.*kubectl -n kube-system create configmap mooring-routes/);
    shipObject(world.core, shippedObjects.routeRecords);
    await world.clock.advance(120_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('a route stays known as ours after the ConfigMap was deleted and restored, also to the next leader', async () => {
    const { world, replica: first } = begin({ like: untagged });
    const vm = world.add('a', [a4]);
    world.add('b', [b4]);
    await first.start();
    await world.clock.advance(10_000);
    deleteObject(world.core, shippedObjects.routeRecords);
    await world.clock.advance(600_000);
    shipObject(world.core, shippedObjects.routeRecords);
    await world.clock.advance(600_000);
    assert.equal(world.network('a'), 'False RouteCreated');
    await first.stop();
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    await world.routeReplica().start();
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${b4} -> b`]);
  });

  it('what somebody made by hand is never ours, whatever it leads to', async () => {
    const { world, replica } = begin({ like: untagged });
    world.add('b', [b4]);
    const router = world.cloud.model.create({ name: 'router' });
    world.foreignRoute(a4, router);
    await replica.start();
    await world.clock.advance(10_000);
    world.cloud.model.terminate(router.id);
    await world.clock.advance(900_000);
    assert.deepEqual(
      world
        .routes()
        .map(({ destination }) => destination)
        .sort(),
      [a4, b4],
    );
  });

  for (const empty of [false, true])
    for (const change of [1, 2, 3])
      for (const when of ['before', 'after'] as const)
        it(`is on record before it is made${empty ? ' in an empty table' : ''}: the leader ends ${when} change ${change} and the Node goes in the same moment`, async () => {
          const { world, replica: first } = begin({ like: untagged });
          if (!empty) world.add('b', [b4]);
          await first.start();
          await world.clock.advance(10_000);
          first.crashAt = { change: first.changes() + change, when };
          const vm = world.add('a', [a4]);
          await world.clock.advance(5000);
          assert.equal(first.crashed, true);
          world.cloud.model.terminate(vm.id);
          world.cluster.remove('a');
          const next = world.routeReplica();
          await next.start();
          await world.clock.advance(60_000);
          assert.deepEqual(world.table(), empty ? [] : [`${b4} -> b`]);
        });

  it('stays on record though one list leaves it out', async () => {
    const { world, replica } = begin({ like: untagged });
    world.add('b', [b4]);
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(60_000);
    const [route] = world.routes().filter(({ destination }) => destination === a4);
    world.cloud.faults.add({
      operation: 'routes.list',
      times: 1,
      effect: { kind: 'missing-items', ids: [route!.id] },
    });
    world.cluster.remove('a');
    await world.clock.advance(900_000);
    assert.deepEqual(world.table(), [`${b4} -> b`]);
  });

  it('many new routes take few writes of the record, not one each', async () => {
    const { world, replica } = begin({ like: untagged });
    world.addMany(100);
    await replica.start();
    await world.clock.advance(10_000);
    assert.equal(world.routes().length, 100);
    const records = replica.writes().filter((write) => write.includes('configmaps'));
    assert.ok(records.length <= 3, String(records.length));
  });
});
