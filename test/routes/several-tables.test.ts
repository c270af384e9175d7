import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import type { Routes } from '../../controller/clouds/routes.ts';
import { a4, b4, routeStage } from './harness/route-stage.ts';

/** A cloud with one table, which gets a second one: what the first one has counts as incomplete until it is created. */
function severalTables() {
  const inSecond = new Set<string>();
  const second = { exists: false, full: false, routes: inSecond };
  const like = (routes: Routes): Routes => ({
    ...routes,
    async observe(cluster, signal) {
      const table = await routes.observe(cluster, signal);
      const isLacking = (destination: string) => second.exists && !inSecond.has(destination);
      const shown = table.routes.map((route) => ({ ...route, incomplete: isLacking(route.destination) }));
      return { quota: undefined, routes: shown };
    },
    async create(route, options) {
      const made = await routes.create(route, options);
      if (second.full)
        throw new CloudError({ kind: 'QuotaExceeded', cloud: 'c', operation: 'routes', message: 'the second is full' });
      inSecond.add(route.destination);
      return made;
    },
  });
  return { second, like };
}

describe('routes that one of several tables lacks', () => {
  const begin = routeStage();

  it('adds routes to a table that lacks them, and deletes them from none', async () => {
    const { second, like } = severalTables();
    const { world, replica, creations } = begin({ like });
    world.addMany(5);
    await replica.start();
    await world.clock.advance(5000);
    second.routes.clear();
    second.exists = true;
    replica.base.kube.forgetCalls();
    const before = world.routes().map(({ id }) => id);
    await world.clock.advance(3_600_000);
    assert.deepEqual([world.routes().map(({ id }) => id), second.routes.size, creations()], [before, 5, 10]);
    assert.deepEqual([world.cloud.calls.total('routes.delete'), replica.writes()], [0, []]);
  });

  it('keeps routes in the other tables while one is full, and lets new Nodes wait, with an event each', async () => {
    const { second, like } = severalTables();
    const { world, replica, events } = begin({ like });
    world.add('a', [a4]);
    await replica.start();
    await world.clock.advance(5000);
    second.routes.clear();
    Object.assign(second, { exists: true, full: true });
    await world.clock.advance(600_000);
    world.add('b', [b4]);
    const reads = world.reads();
    await world.clock.advance(3_600_000);
    assert.deepEqual([world.network('a'), world.network('b')], ['False RouteCreated', 'True QuotaExceeded']);
    assert.deepEqual(events(), ['FailedToCreateRoute a', 'FailedToCreateRoute b']);
    assert.equal(world.cloud.calls.total('routes.delete'), 0);
    assert.ok(world.reads() - reads < 150, String(world.reads() - reads));
    second.full = false;
    await world.clock.advance(120_000);
    assert.equal(world.network('b'), 'False RouteCreated');
  });
});
