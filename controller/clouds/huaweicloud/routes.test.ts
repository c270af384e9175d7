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

  it('stand in every table of it, and those of one moment share a call for each', async () => {
    await world.during(Promise.all(['10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24'].map(create)));
    assert.equal(sent(), 2);
    for (const { routes: there } of world.fake.tables.values()) assert.equal(there.length, 3);
    assert.deepEqual(
      (await observe()).map(({ destination, ours, blackhole }) => [destination, ours, blackhole]),
      ['10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24'].map((one) => [one, true, false]),
    );
  });

  it('are shown as incomplete where a table lacks one, and are completed without a second one', async () => {
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

  it('are shown as dropping packets when their ECS is gone, and not when the list alone leaves it out', async () => {
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

  it('of a moment are made although the cloud refuses one of them', async () => {
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

  it('of others are never taken for ours, and stay when one of ours has their destination', async () => {
    await world.createForeignRoute('10.0.1.0/24', await world.createVm());
    assert.equal((await observe())[0]?.ours, false);
    await assert.rejects(world.during(create('10.0.1.0/24')), { kind: 'Conflict' });
    assert.equal(sent(), 0);
  });

  it('go from the tables where they are ours, and stay where a person made the same one', async () => {
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
