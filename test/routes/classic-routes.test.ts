import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Routes } from '../../controller/clouds/routes.ts';
import { KubeError } from '../../controller/kube/api.ts';
import { shippedObjectsIn } from '../../controller/kube/shipped-objects.ts';
import { deleteObject } from '../nodes/harness/shipped-objects.ts';
import { a4, b4, c4, routeStage } from './harness/route-stage.ts';

/** A cloud that tags routes, and whose classic controller left some that do not say of which cluster they are. */
function afterClassic(routes: Routes): Routes {
  return {
    ...routes,
    async observe(cluster, signal) {
      const table = await routes.observe(cluster, signal);
      return { ...table, routes: table.routes.map((route) => ({ ...route, ours: route.ours || undefined })) };
    },
  };
}

describe('routes of the classic controller on a cloud that tags routes', () => {
  const begin = routeStage();

  it('creates our routes without waiting where the records may not be read', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    replica.base.kube.intercept = ({ path }) => {
      if (path.includes('mooring-routes')) throw new KubeError({ status: 403, reason: 'Forbidden', message: 'no' });
    };
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual([world.table(), world.network('a')], [[`${a4} -> a`], 'False RouteCreated']);
  });

  it('uses a route of the classic controller as it is, and deletes it with its Node', async () => {
    const { world, replica: first } = begin({ like: afterClassic });
    const vm = world.add('a', [a4]);
    world.foreignRoute(a4, vm);
    await first.start();
    await world.clock.advance(10_000);
    assert.deepEqual([world.network('a'), world.mutations()], ['False RouteCreated', 0]);
    await first.stop();
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    const next = world.routeReplica();
    await next.start();
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), []);
    world.add('c', [a4]);
    await world.clock.advance(10_000);
    assert.deepEqual([world.table(), world.network('c')], [[`${a4} -> c`], 'False RouteCreated']);
  });

  it('replaces a route of the classic controller whose range another Node has by now', async () => {
    const { world, replica } = begin({ like: afterClassic });
    const vm = world.add('a', [a4]);
    world.foreignRoute(a4, vm);
    await replica.start();
    await world.clock.advance(10_000);
    world.cloud.model.terminate(vm.id);
    world.cluster.remove('a');
    world.add('c', [a4]);
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> c`]);
  });

  it('keeps a route that leads to no Node of this cluster, also when its instance ends', async () => {
    const { world, replica } = begin({ like: afterClassic });
    world.add('b', [b4]);
    const ofOthers = world.cloud.model.create({ name: 'of-others' });
    for (const range of [a4, c4]) world.foreignRoute(range, ofOthers);
    await replica.start();
    await world.clock.advance(900_000);
    world.cloud.model.terminate(ofOthers.id);
    await world.clock.advance(900_000);
    assert.deepEqual(
      world.routes().map(({ destination }) => destination),
      [a4, c4, b4],
    );
  });

  it('creates the routes of other Nodes while the ConfigMap of records is missing', async () => {
    const { world, replica } = begin({ like: afterClassic });
    deleteObject(world.core, shippedObjectsIn('kube-system').routeRecords);
    world.foreignRoute(a4, world.add('a', [a4]));
    world.add('b', [b4]);
    await replica.start();
    await world.clock.advance(10_000);
    assert.deepEqual([world.network('a'), world.network('b')], ['False RouteCreated', 'False RouteCreated']);
    assert.ok(
      replica.logged.some((line) => line.includes('create configmap mooring-routes')),
      replica.logged.join('\n'),
    );
  });
});

describe('routes of ours on a cloud that tags routes', () => {
  const begin = routeStage();

  it('records no route on a cloud that tags routes', async () => {
    const { world, replica } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(600_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.configMap('mooring-routes'), undefined);
  });
});
