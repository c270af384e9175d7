import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import type { DesiredRoute, ObservedRoute, Routes } from '../../../controller/clouds/routes.ts';
import { withheld } from './drive.ts';
import type { SuiteContext } from './suite-context.ts';
import type { CloudVm, CloudWorld } from './world.ts';

const always = { permit: () => {} };

/** Runs a body with one VM and the routes of a fresh process; removes the routes to it afterwards. */
async function withRoutes(
  world: CloudWorld,
  body: (parts: { routes: Routes; vm: CloudVm; desired: (destination: string) => DesiredRoute }) => Promise<void>,
): Promise<void> {
  const routes = await freshRoutes(world);
  const vm = await world.createVm();
  const nodeUid = randomUUID();
  const desired = (destination: string): DesiredRoute => ({
    cluster: world.cluster,
    node: vm.name,
    nodeUid,
    destination,
    providerID: vm.providerID,
    addresses: vm.addresses,
  });
  const before = new Set((await observe(world)).map(({ id }) => id));
  try {
    await body({ routes, vm, desired });
  } finally {
    for (const route of await observe(world)) {
      if (!before.has(route.id)) await world.during((await freshRoutes(world)).remove(route, always));
    }
    await world.deleteVm(vm.providerID);
  }
}

async function freshRoutes(world: CloudWorld): Promise<Routes> {
  const { routes } = await world.open();
  assert.ok(routes, 'the cloud has no routes');
  return routes;
}

async function observe(world: CloudWorld): Promise<readonly ObservedRoute[]> {
  return (await world.during((await freshRoutes(world)).observe(world.cluster))).routes;
}

const at = async (world: CloudWorld, destination: string) =>
  (await observe(world)).filter((route) => route.destination === destination);

/** Facts about pod routes. */
export function routeFacts({ world, capabilities }: SuiteContext): void {
  const { routes: able } = capabilities;
  if (!able) return;
  describe('routes', () => {
    it('creates a route, reads it in a new process, and deletes it', () =>
      withRoutes(world(), async ({ routes, vm, desired }) => {
        const made = await world().during(routes.create(desired('10.244.1.0/24'), always));
        assert.equal(made.destination, '10.244.1.0/24');
        const [seen, ...others] = await at(world(), '10.244.1.0/24');
        assert.deepEqual(others, []);
        assert.equal(seen?.id, made.id);
        assert.equal(seen.providerID, vm.providerID);
        assert.equal(seen.blackhole, false);
        assert.equal(seen.ours, able.tags ? true : undefined);
        await world().during(routes.remove(seen, always));
        assert.deepEqual(await at(world(), '10.244.1.0/24'), []);
      }));

    it('creates one route when asked twice, and deletes it when asked twice', () =>
      withRoutes(world(), async ({ routes, desired }) => {
        const [first, second] = [
          await world().during(routes.create(desired('10.244.2.0/24'), always)),
          await world().during((await freshRoutes(world())).create(desired('10.244.2.0/24'), always)),
        ];
        assert.equal(second.id, first.id);
        assert.equal((await at(world(), '10.244.2.0/24')).length, 1);
        await world().during(routes.remove(first, always));
        await world().during(routes.remove(first, always));
        assert.deepEqual(await at(world(), '10.244.2.0/24'), []);
      }));

    it('creates each of many routes at once, and none twice', () =>
      withRoutes(world(), async ({ routes, desired }) => {
        const destinations = Array.from({ length: 8 }, (_, number) => `10.244.${100 + number}.0/24`);
        await world().during(
          Promise.all(destinations.map((destination) => routes.create(desired(destination), always))),
        );
        const seen = (await observe(world())).map(({ destination }) => destination);
        assert.deepEqual(
          seen.filter((destination) => destinations.includes(destination)).sort(),
          destinations.toSorted(),
        );
      }));

    it('creates and deletes no route without a permit', () =>
      withRoutes(world(), async ({ routes, desired }) => {
        const before = world().mutations();
        await assert.rejects(world().during(routes.create(desired('10.244.3.0/24'), { permit: withheld })), {
          name: 'WithheldError',
        });
        assert.equal(world().mutations(), before);
        const made = await world().during(routes.create(desired('10.244.3.0/24'), always));
        const then = world().mutations();
        await assert.rejects(world().during(routes.remove(made, { permit: withheld })), { name: 'WithheldError' });
        assert.equal(world().mutations(), then);
        assert.equal((await at(world(), '10.244.3.0/24')).length, 1);
      }));

    it('creates and deletes a route once after a lost answer', (t) =>
      withRoutes(world(), async ({ routes, desired }) => {
        const { loseAnswer } = world();
        if (!loseAnswer) return t.skip('no answer can be lost here');
        loseAnswer(0);
        await world()
          .during(routes.create(desired('10.244.4.0/24'), always))
          .catch(() => {});
        const made = await world().during((await freshRoutes(world())).create(desired('10.244.4.0/24'), always));
        assert.equal((await at(world(), '10.244.4.0/24')).length, 1);
        loseAnswer(0);
        await world()
          .during(routes.remove(made, always))
          .catch(() => {});
        await world().during((await freshRoutes(world())).remove(made, always));
        assert.deepEqual(await at(world(), '10.244.4.0/24'), []);
      }));

    it('reads and keeps routes of others, and refuses their destination as a conflict', () =>
      withRoutes(world(), async ({ routes, vm, desired }) => {
        const other = await world().createVm();
        await world().createForeignRoute('10.244.5.0/24', other);
        try {
          const [foreign] = await at(world(), '10.244.5.0/24');
          assert.ok(foreign);
          assert.notEqual(foreign.ours, true);
          await assert.rejects(world().during(routes.create(desired('10.244.5.0/24'), always)), { kind: 'Conflict' });
          const [after] = await at(world(), '10.244.5.0/24');
          assert.equal(after?.providerID, other.providerID);
          assert.notEqual(after?.providerID, vm.providerID);
        } finally {
          await world().deleteForeignRoute('10.244.5.0/24');
          await world().deleteVm(other.providerID);
        }
      }));

    it('shows the route of a deleted VM as a blackhole, where the cloud does, and deletes it', () =>
      withRoutes(world(), async ({ routes, desired }) => {
        const vm = await world().createVm();
        const route = { ...desired('10.244.6.0/24'), providerID: vm.providerID, addresses: vm.addresses };
        await world().during(routes.create(route, always));
        await world().deleteVm(vm.providerID);
        const [left] = await at(world(), '10.244.6.0/24');
        if (able.blackholes) assert.equal(left?.blackhole, true);
        if (left) await world().during(routes.remove(left, always));
        assert.deepEqual(await at(world(), '10.244.6.0/24'), []);
      }));

    it('refuses a route beyond a full table as QuotaExceeded, and shows the quota where the cloud does', (t) =>
      withRoutes(world(), async ({ routes, desired }) => {
        const { routesLeft } = world();
        if (!routesLeft) return t.skip('the quota cannot be set here');
        routesLeft(1);
        try {
          if (able.quota) {
            const { quota } = await world().during(routes.observe(world().cluster));
            assert.equal((quota?.limit ?? 0) - (quota?.used ?? 0), 1);
          }
          await world().during(routes.create(desired('10.244.7.0/24'), always));
          const attempt = world().during(routes.create(desired('10.244.8.0/24'), always));
          await assert.rejects(attempt, { kind: 'QuotaExceeded' });
        } finally {
          routesLeft(undefined);
        }
      }));

    it('changes nothing by a read of the routes', async () => {
      const before = world().mutations();
      await observe(world());
      assert.equal(world().mutations(), before);
    });
  });
}
