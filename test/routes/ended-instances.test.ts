import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditions } from '../../common/well-known.ts';
import type { Routes } from '../../controller/clouds/routes.ts';
import { a4, b4, routeStage } from './harness/route-stage.ts';
import { untagged } from './harness/route-world.ts';

/** A cloud whose routes name no instance once they drop packets, and cannot be tagged. */
function nameless(routes: Routes): Routes {
  const bare = untagged(routes);
  return {
    ...bare,
    async observe(cluster, signal) {
      const table = await bare.observe(cluster, signal);
      const unnamed = table.routes.map((route) => (route.blackhole ? { ...route, providerID: undefined } : route));
      return { ...table, routes: unnamed };
    },
  };
}

describe('a route whose instance has ended', () => {
  const begin = routeStage();

  for (const [which, like] of [
    ['that names the instance', undefined],
    ['that names no instance', nameless],
  ] as const)
    it(`keeps a route whose instance has ended as long as its Node lives: one ${which}`, async () => {
      const { world, replica, creations } = begin(like && { like });
      const vm = world.add('a', [a4]);
      world.add('b', [b4]);
      await replica.start();
      await world.clock.advance(5000);
      world.cloud.model.terminate(vm.id);
      const reads = world.reads();
      await world.clock.advance(1_800_000);
      assert.equal(creations(), 2);
      assert.equal(world.routes().length, 2);
      assert.ok(world.reads() - reads <= 14, String(world.reads() - reads));
      assert.equal(world.network('a'), 'False RouteCreated');
      assert.deepEqual(replica.base.events, []);
      world.cluster.remove('a');
      await world.clock.advance(10_000);
      assert.deepEqual(world.table(), [`${b4} -> b`]);
      assert.equal(creations(), 2);
    });

  for (const [which, like, power] of [
    ['', nameless, 'running'],
    [', whose instance is off', undefined, 'off'],
    [', whose instance is off: one that names no instance', nameless, 'off'],
  ] as const)
    it(`makes way at once for that of a new Node with the range${which}`, async () => {
      const { world, replica, creations } = begin(like && { like });
      const vm = world.add('a', [a4]);
      await replica.start();
      await world.clock.advance(5000);
      world.cloud.model.terminate(vm.id);
      await world.clock.advance(600_000);
      world.cluster.remove('a');
      const next = world.add('b', [a4]);
      if (power === 'off') world.cloud.model.stop(next.id);
      await world.clock.advance(10_000);
      assert.deepEqual(world.table(), [`${a4} -> b`]);
      assert.equal(world.network('b'), 'False RouteCreated');
      assert.equal(creations(), 2);
    });
});

describe('a route that drops packets', () => {
  const begin = routeStage();

  it('replaces a route that drops packets once its instance runs', async () => {
    const { world, replica, creations } = begin();
    const vm = world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    world.cloud.model.stop(vm.id);
    const [old] = world.routes();
    world.cloud.network.routes.setBroken(old!.id, true);
    await world.clock.advance(900_000);
    assert.deepEqual(
      world.routes().map(({ id }) => id),
      [old!.id],
    );
    world.cloud.model.start(vm.id);
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.notEqual(world.routes()[0]!.id, old!.id);
    assert.equal(creations(), 2);
  });

  it('replaces a route that drops packets while the cloud answers no lookup', async () => {
    const { world, replica, creations } = begin();
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    world.cloud.faults.add({ operation: 'instances.lookup', effect: { kind: 'error', status: 500 } });
    world.cloud.network.routes.setBroken(world.routes()[0]!.id, true);
    await world.clock.advance(360_000);
    assert.equal(creations(), 2);
  });
});

describe('a missing route to an instance that has ended', () => {
  const begin = routeStage();

  it('tries a route to an ended instance once, and says on the Node why it is missing', async () => {
    const { world, replica, creations, events } = begin();
    const vm = world.add('a', [a4]);
    world.cloud.model.terminate(vm.id);
    await replica.start();
    await world.clock.advance(1_800_000);
    assert.equal(creations(), 1);
    assert.equal(world.network('a'), 'True NoRouteCreated');
    assert.match(world.cluster.condition('a', conditions.networkUnavailable)?.message ?? '', /no instance/);
    assert.deepEqual(events(), ['FailedToCreateRoute a']);
  });

  it('tries a lost route to an ended instance once more, and says on the Node that it is missing', async () => {
    const { world, replica, creations } = begin();
    const vm = world.add('a', [a4]);
    world.add('b', [b4]);
    await replica.start();
    await world.clock.advance(5000);
    world.cloud.model.terminate(vm.id);
    world.loseRoutes();
    await world.clock.advance(1_800_000);
    assert.deepEqual(world.table(), [`${b4} -> b`]);
    assert.equal(creations(), 4);
    assert.equal(world.network('a'), 'True NoRouteCreated');
    assert.match(world.cluster.condition('a', conditions.networkUnavailable)?.message ?? '', /has ended/);
  });
});

describe('a missing route to an instance that is off', () => {
  const begin = routeStage();

  it('creates a route to an instance that is off after a refusal', async () => {
    const { world, replica } = begin();
    const vm = world.add('a', [a4]);
    world.cloud.model.stop(vm.id);
    world.cloud.faults.add({ operation: 'routes.create', times: 1, effect: { kind: 'error', status: 400 } });
    await replica.start();
    await world.clock.advance(30_000);
    assert.deepEqual(world.table(), [`${a4} -> a`]);
    assert.equal(world.network('a'), 'False RouteCreated');
  });
});
