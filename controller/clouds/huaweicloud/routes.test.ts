import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { vpcId } from '../../../test/clouds/huawei/fake/fake-huawei.ts';
import { type HuaweiWorld, huaweiWorld } from '../../../test/clouds/huawei/huawei-world.ts';
import type { CloudVm } from '../../../test/clouds/suite/world.ts';
import type { Routes } from '../routes.ts';

describe('the routes of a VPC', () => {
  let world: HuaweiWorld;
  let routes: Routes;
  let vm: CloudVm;
  beforeEach(async () => {
    world = huaweiWorld();
    routes = (await world.open()).routes!;
    vm = await world.createVm();
    const further = { id: randomUUID(), name: 'further', isDefault: false, vpc: vpcId, routes: [] };
    world.fake.tables.set(further.id, further);
  });
  afterEach(() => world.close());

  const create = (destination: string) =>
    routes.create(
      { cluster: world.cluster, node: vm.name, nodeUid: 'u', destination, providerID: vm.providerID, addresses: [] },
      { permit: () => {} },
    );
  const observe = async () => (await world.during(routes.observe(world.cluster))).routes;
  const sent = () => world.fake.calls.filter(({ method }) => method === 'PUT').length;

  it('makes routes in every table of a VPC, and those of one moment by one call for each table', async () => {
    await world.during(Promise.all(['10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24'].map(create)));
    assert.equal(sent(), 2);
    for (const { routes: there } of world.fake.tables.values()) assert.equal(there.length, 3);
    assert.deepEqual(
      (await observe()).map(({ destination, ours, blackhole }) => [destination, ours, blackhole]),
      ['10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24'].map((one) => [one, true, false]),
    );
  });

  it('shows a route as incomplete where a table lacks it, and completes it without a second one', async () => {
    await world.during(create('10.0.1.0/24'));
    const [, second] = [...world.fake.tables.values()];
    second!.routes = [];
    assert.deepEqual(
      (await observe()).map(({ incomplete, blackhole }) => [incomplete, blackhole]),
      [[true, false]],
    );
    await world.during(create('10.0.1.0/24'));
    assert.equal(sent(), 3);
    assert.equal((await observe())[0]?.incomplete, false);
  });

  it('shows a route as dropping packets when its ECS is gone, not when only the list leaves the ECS out', async () => {
    await world.during(create('10.0.1.0/24'));
    world.fake.fault = ({ path }) =>
      path.endsWith('/detail') ? { status: 200, body: { count: 0, servers: [] } } : undefined;
    assert.equal((await observe())[0]?.blackhole, false);
    await world.deleteVm(vm.providerID);
    assert.deepEqual(
      (await observe()).map(({ blackhole, providerID }) => [blackhole, providerID]),
      [[true, undefined]],
    );
  });

  it('makes the other routes of a batch although the cloud refuses one', async () => {
    const table = [...world.fake.tables.values()][0]!;
    world.fake.maxRoutes = 1;
    const made = await world.during(Promise.allSettled(['10.0.1.0/24', '10.0.2.0/24'].map(create)));
    assert.deepEqual(
      made.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    assert.equal(made[1]?.status === 'rejected' && made[1].reason.kind, 'QuotaExceeded');
    assert.equal(table.routes.length, 1);
  });

  it('takes no route of others for ours, and keeps one that has the destination of ours', async () => {
    await world.createForeignRoute('10.0.1.0/24', await world.createVm());
    assert.equal((await observe())[0]?.ours, false);
    await assert.rejects(world.during(create('10.0.1.0/24')), { kind: 'Conflict' });
    assert.equal(sent(), 0);
  });

  it('removes a route from the tables where it is ours, and keeps the same one of a person', async () => {
    await world.during(create('10.0.1.0/24'));
    const tables = [...world.fake.tables.values()];
    for (const theirs of tables) {
      const description = theirs.routes[0]!.description;
      theirs.routes = theirs.routes.map((one) => ({ ...one, description: 'by hand' }));
      assert.equal((await observe())[0]?.ours, true);
      theirs.routes = theirs.routes.map((one) => ({ ...one, description }));
    }
    const [ours, theirs] = tables;
    theirs!.routes = theirs!.routes.map((one) => ({ ...one, description: 'by hand' }));
    const [route] = await observe();
    await world.during(routes.remove(route!, { permit: () => {} }));
    assert.deepEqual([ours!.routes.length, theirs!.routes.length], [0, 1]);
  });
});
