import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isCloudError } from '../../../common/cloud-error.ts';
import { cluster, newWorld, place, type World } from '../../../test/clouds/simulated/world.ts';
import type { Effect } from '../../../test/kit/cloud/faults.ts';
import { ownerTags } from '../load-balancers.ts';
import { WithheldError } from '../permit.ts';
import type { DesiredRoute } from '../routes.ts';

function desired(
  world: World,
  destination = '10.244.1.0/24',
  instanceId = world.sandbox.model.create().id,
): DesiredRoute {
  const providerID = `simulated://sim-1/${instanceId}`;
  return { cluster, node: 'worker-1', nodeUid: 'uid-1', destination, providerID, addresses: ['10.0.0.1'] };
}

function kindIs(kind: string) {
  return (error: unknown) => isCloudError(error) && error.kind === kind;
}

test('a route is created in one call, read as ours, and deleted in one', async () => {
  const world = newWorld();
  const routes = world.open().routes!;
  const desiredRoute = desired(world);
  const made = await routes.create(desiredRoute, world.permitted);
  const shown = {
    id: made.id,
    destination: desiredRoute.destination,
    providerID: desiredRoute.providerID,
    blackhole: false,
    ours: true,
  };
  assert.deepEqual(made, shown);
  assert.deepEqual(await routes.observe(cluster), { routes: [shown], quota: undefined });
  const [stored] = world.network.routes.store.all();
  assert.equal(stored?.description, 'pods of node worker-1');
  assert.deepEqual(stored?.tags, {
    [ownerTags.cluster]: cluster,
    'mooring.dev/node': 'worker-1',
    'mooring.dev/node-uid': 'uid-1',
  });
  await routes.remove(made, world.permitted);
  await routes.remove(made, world.permitted);
  assert.deepEqual((await routes.observe(cluster)).routes, []);
  assert.deepEqual(world.permits, [10_000, 10_000, 10_000]);
});

test('twenty thousand routes are read in one call, one more in two', async () => {
  const world = newWorld();
  const routes = world.open().routes!;
  const instanceId = world.sandbox.model.create().id;
  for (let at = 0; at <= 20_000; at += 1) {
    const destination = `10.${Math.floor(at / 256)}.${at % 256}.0/24`;
    world.network.routes.create(place, { destination, instanceId, description: '', tags: {}, clientToken: undefined });
    if (at === 19_999) assert.equal((await routes.observe(cluster)).routes.length, 20_000);
  }
  assert.equal(world.calls.total('routes.list'), 1);
  const { routes: all } = await routes.observe(cluster);
  assert.equal(all.length, 20_001);
  assert.equal(world.calls.total('routes.list'), 3);
  assert.ok(all.every(({ ours }) => ours === false));
});

test('the quota is read where the cloud tells it, and one route too many is QuotaExceeded', async () => {
  const world = newWorld();
  const routes = world.open().routes!;
  world.network.quotas.set('routes', 1);
  await routes.create(desired(world), world.permitted);
  assert.deepEqual((await routes.observe(cluster)).quota, { limit: 1, used: 1 });
  world.sandbox.faults.add({ operation: 'routes.list', times: 1, effect: { kind: 'missing-items', count: 1 } });
  await assert.rejects(routes.observe(cluster), kindIs('Unavailable'), 'it holds more than it shows');
  await assert.rejects(routes.create(desired(world, '10.244.2.0/24'), world.permitted), kindIs('QuotaExceeded'));
});

test('a destination of another route is a conflict, ours or foreign', async () => {
  const world = newWorld();
  const routes = world.open().routes!;
  const desiredRoute = desired(world);
  const instanceId = desiredRoute.providerID.split('/').at(-1)!;
  const spec = { destination: desiredRoute.destination, instanceId, description: '', tags: {}, clientToken: undefined };
  const { route } = world.network.routes.create(place, spec);
  await assert.rejects(routes.create(desiredRoute, world.permitted), kindIs('Conflict'));
  world.network.routes.setTags(route.id, { [ownerTags.cluster]: cluster });
  assert.equal((await routes.create(desiredRoute, world.permitted)).id, route.id);
  await assert.rejects(routes.create(desired(world), world.permitted), kindIs('Conflict'));
  world.network.routes.setBroken(route.id, true);
  await assert.rejects(routes.create(desiredRoute, world.permitted), kindIs('Conflict'));
});

test('a route whose instance is gone is a blackhole', async () => {
  const world = newWorld();
  const routes = world.open().routes!;
  const desiredRoute = desired(world);
  await routes.create(desiredRoute, world.permitted);
  world.sandbox.model.terminate(desiredRoute.providerID.split('/').at(-1)!);
  assert.deepEqual(
    (await routes.observe(cluster)).routes.map(({ blackhole }) => blackhole),
    [true],
  );
  await assert.rejects(
    routes.create({ ...desiredRoute, destination: '10.244.9.0/24' }, world.permitted),
    kindIs('Invalid'),
  );
});

test('a route to an instance of another place, or without a permit, is never sent', async () => {
  const world = newWorld();
  const routes = world.open().routes!;
  const far = { ...desired(world), providerID: 'simulated://sim-2/i-1' };
  await assert.rejects(routes.create(far, world.permitted), kindIs('Invalid'));
  const withheld = new WithheldError('Paused', 'paused');
  const permit = () => {
    throw withheld;
  };
  await assert.rejects(routes.create(desired(world), { permit }), withheld);
  await assert.rejects(
    routes.remove({ ...(await routes.create(desired(world), world.permitted)) }, { permit }),
    withheld,
  );
  assert.equal(world.calls.total(), 1);
});

test('an answer that the cloud does not document is Invalid and names the field', async () => {
  const world = newWorld();
  const routes = world.open().routes!;
  await routes.create(desired(world), world.permitted);
  for (const field of ['id', 'destination', 'instanceId', 'tags', 'blackhole']) {
    world.sandbox.faults.add({
      operation: 'routes.list',
      times: 1,
      effect: { kind: 'missing-fields', fields: [field] },
    });
    await assert.rejects(routes.observe(cluster), new RegExp(`${field}: missing`));
  }
});

test('a route is created once despite every lost answer', async () => {
  const effect = fc.constantFrom<Effect>(
    { kind: 'lost-answer' },
    { kind: 'cut-body' },
    { kind: 'malformed' },
    { kind: 'error', status: 500 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(effect, { maxLength: 5 }), async (effects) => {
      const world = newWorld();
      for (const one of effects) world.sandbox.faults.add({ operation: 'routes.*', times: 1, effect: one });
      const desiredRoute = desired(world);
      const insist = async <T>(run: () => Promise<T>): Promise<T> => {
        for (let attempt = 0; ; attempt += 1) {
          try {
            return await run();
          } catch (error) {
            assert.ok(isCloudError(error) && attempt < 10, String(error));
          }
        }
      };
      const made = await insist(() => world.open().routes!.create(desiredRoute, world.permitted));
      assert.deepEqual(
        world.network.routes.store.all().map(({ id }) => id),
        [made.id],
      );
      await insist(() => world.open().routes!.remove(made, world.permitted));
      assert.deepEqual(world.network.routes.store.all(), []);
    }),
    { numRuns: 50 },
  );
});
