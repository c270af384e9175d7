import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditions } from '../../common/well-known.ts';
import { shippedObjectsIn } from '../../controller/kube/shipped-objects.ts';
import { deleteObject, shipObject } from '../nodes/harness/shipped-objects.ts';
import { a4, b4, routeStage } from './harness/route-stage.ts';
import { untagged } from './harness/route-world.ts';

describe('routes that cannot be tagged', () => {
  const begin = routeStage();

  it('deletes an untagged route of ours whose Node went unseen', async () => {
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

  it('says on the Node that the ConfigMap of records is missing, and creates its route afterwards', async () => {
    const { world, replica } = begin({ like: untagged });
    deleteObject(world.core, shippedObjectsIn('kube-system').routeRecords);
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(30_000);
    assert.deepEqual(world.table(), []);
    assert.equal(world.network('a'), 'True NoRouteCreated');
    const { message } = world.cluster.condition('a', conditions.networkUnavailable) ?? assert.fail();
    assert.match(message, /could not be recorded.*kubectl -n kube-system create configmap mooring-routes/);
    shipObject(world.core, shippedObjectsIn('kube-system').routeRecords);
    await world.clock.advance(120_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('deletes an untagged route of ours after the ConfigMap was deleted and restored', async () => {
    const { world, replica: first } = begin({ like: untagged });
    const vm = world.add('a', [a4]);
    world.add('b', [b4]);
    await first.start();
    await world.clock.advance(10_000);
    deleteObject(world.core, shippedObjectsIn('kube-system').routeRecords);
    await world.clock.advance(600_000);
    shipObject(world.core, shippedObjectsIn('kube-system').routeRecords);
    await world.clock.advance(600_000);
    assert.equal(world.network('a'), 'False RouteCreated');
    await first.stop();
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    await world.routeReplica().start();
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${b4} -> b`]);
  });

  it('keeps an untagged route that was created by hand, whatever it leads to', async () => {
    const { world, replica } = begin({ like: untagged });
    world.add('b', [b4]);
    const router = world.cloud.model.create({ name: 'router' });
    world.foreignRoute(a4, router);
    await replica.start();
    await world.clock.advance(10_000);
    world.cloud.model.terminate(router.id);
    await world.clock.advance(900_000);
    assert.deepEqual(world.destinations(), [a4, b4]);
  });

  for (const empty of [false, true])
    for (const change of [1, 2, 3])
      for (const when of ['before', 'after'] as const)
        it(`deletes a route of a leader that ended ${when} change ${change}${empty ? ', empty' : ''}`, async () => {
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

  it('deletes an untagged route of ours though one list left it out', async () => {
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

  it('writes few records for many new routes, not one each', async () => {
    const { world, replica } = begin({ like: untagged });
    world.addMany(100);
    await replica.start();
    await world.clock.advance(10_000);
    assert.equal(world.routes().length, 100);
    const records = replica.writes().filter((write) => write.includes('configmaps'));
    assert.ok(records.length <= 3, String(records.length));
  });
});
