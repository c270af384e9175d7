import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type AlibabaWorld,
  type AlibabaWorldOptions,
  alibabaWorld,
} from '../../../test/clouds/alibaba/alibaba-world.ts';
import type { CloudVm } from '../../../test/clouds/suite/world.ts';

const always = { permit: () => {} };
const tables = ['vtb-bp1a', 'vtb-bp1b'];
const severalTables: AlibabaWorldOptions = {
  env: { ROUTE_TABLE_IDS: tables.join() },
  prepare(fake) {
    fake.routeTables.clear();
    for (const table of [...tables, 'vtb-bp1other']) fake.routeTables.set(table, []);
  },
};

const desired = (world: AlibabaWorld, { name, providerID, addresses }: CloudVm, destination: string) => ({
  cluster: world.cluster,
  node: name,
  nodeUid: name,
  destination,
  providerID,
  addresses,
});

async function openRoutes(world: AlibabaWorld) {
  const { routes } = await world.open();
  assert.ok(routes);
  return routes;
}

describe('routes of Alibaba Cloud', () => {
  it('creates routes of many nodes in all tables of the cluster, and in no other, with one call', async () => {
    const world = alibabaWorld(severalTables);
    const routes = await openRoutes(world);
    const vms = await Promise.all(Array.from({ length: 20 }, () => world.createVm()));
    const made = vms.map((vm, at) => routes.create(desired(world, vm, `10.244.${at}.0/24`), always));
    await world.during(Promise.all(made));
    assert.equal(world.mutations(), 1);
    assert.deepEqual(
      [...world.fake.routeTables.values()].map((table) => table.length),
      [20, 20, 0],
    );
    assert.equal((await world.during(routes.observe(world.cluster))).routes.length, 20);
    await world.close();
  });

  it('completes a route that one of the tables lacks', async () => {
    const world = alibabaWorld(severalTables);
    const routes = await openRoutes(world);
    const vm = await world.createVm();
    const route = desired(world, vm, '10.244.1.0/24');
    await world.during(routes.create(route, always));
    world.fake.routeTables.get('vtb-bp1b')!.pop();
    const [seen] = (await world.during(routes.observe(world.cluster))).routes;
    assert.deepEqual([seen?.incomplete, seen?.blackhole], [true, false]);
    await world.during(routes.create(route, always));
    const [after] = (await world.during(routes.observe(world.cluster))).routes;
    assert.equal(after?.incomplete, false);
    await world.close();
  });

  it('wait while a table takes another change', async () => {
    const world = alibabaWorld();
    const routes = await openRoutes(world);
    const vm = await world.createVm();
    world.fake.tablesBusyUntil = world.fake.now() + 4000;
    await world.during(routes.create(desired(world, vm, '10.244.1.0/24'), always));
    assert.equal((await world.during(routes.observe(world.cluster))).routes.length, 1);
    await world.close();
  });

  it('fails the route alone that finds the table full', async () => {
    const world = alibabaWorld();
    const routes = await openRoutes(world);
    const vm = await world.createVm();
    world.fake.maxEntries = 1;
    const made = [1, 2].map((at) => routes.create(desired(world, vm, `10.244.${at}.0/24`), always));
    const [first, second] = await world.during(Promise.allSettled(made));
    assert.equal(first?.status, 'fulfilled');
    assert.ok(second?.status === 'rejected');
    assert.equal(second.reason.kind, 'QuotaExceeded');
    await world.close();
  });

  it('reads routes page by page, and leaves out those of a NAT gateway', async () => {
    const world = alibabaWorld();
    const routes = await openRoutes(world);
    const [table] = world.fake.routeTables.values();
    table!.push({ id: 'rte-nat', destination: '0.0.0.0/0', nextHop: 'ngw-bp1', type: 'NatGateway' });
    for (let at = 0; at < 250; at += 1)
      table!.push({ id: `rte-${at}`, destination: `10.${at}.0.0/24`, nextHop: 'i-bp1x', type: 'Instance' });
    const { routes: seen } = await world.during(routes.observe(world.cluster));
    assert.equal(seen.length, 250);
    assert.equal(world.fake.calls.filter((action) => action === 'DescribeRouteEntryList').length, 3);
    await world.close();
  });

  it('name the tables of the VPC where it has several and none is configured', async () => {
    const world = alibabaWorld({ prepare: (fake) => void fake.routeTables.set('vtb-bp1second', []) });
    const routes = await openRoutes(world);
    await assert.rejects(world.during(routes.observe(world.cluster)), /routeTableIDs.*vtb-bp1second/);
    await world.close();
  });
});
