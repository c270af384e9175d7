import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadBalancerName } from '../../../controller/clouds/gce/load-balancers/names.ts';
import type { Found } from '../../../controller/engine/resource.ts';
import { newOwner } from '../suite/desired.ts';
import { ensure, remove } from '../suite/drive.ts';
import { withExample } from '../suite/suite-context.ts';
import { fakeGceWorld } from './gce-world.ts';

describe('a load balancer of the classic controller with a rule that denies all else', () => {
  it('adopts nothing while a rule of the classic controller denies all else, and goes on once it is gone', async () => {
    const world = fakeGceWorld('target pools', '');
    await withExample(world, async (example) => {
      const { observed } = await ensure(await example.driving());
      await world.markAsClassic!({ id: observed!.id } as Found, example.desired);
      const { resources } = world.fake.balancing;
      const name = `k8s-fw-${loadBalancerName(example.desired.owner.service)}-deny`;
      world.fake.balancing.put(`global/firewalls/${name}`, { denied: [{ IPProtocol: 'all' }], priority: 1000 });
      const before = JSON.stringify([...resources]);

      const adopt = { clusterName: 'kubernetes', addresses: [observed!.ingress[0]!.ip!] };
      const desired = { ...example.desired, healthCheck: { port: 31_999, path: '/healthz' } };
      const again = async () => ensure({ ...(await example.driving({ desired, adopt })), record: { id: undefined } });
      const told = await again();
      assert.deepEqual(
        told.refusals.map(({ message }) => message),
        [`firewall rule ${name}: expected none: it denies what this Service serves; delete it`],
      );
      assert.equal(JSON.stringify([...resources]), before);

      resources.delete(`global/firewalls/${name}`);
      const after = await again();
      assert.deepEqual([after.refusals, after.observed?.ingress], [[], observed!.ingress]);
      assert.ok(after.calls > 0);
    });
    await world.close();
  });

  it('deletes that rule with its Service, so that it denies nothing to the next one with that address', async () => {
    const world = fakeGceWorld('target pools', '');
    await withExample(world, async (example) => {
      await ensure(await example.driving());
      const name = `k8s-fw-${loadBalancerName(example.desired.owner.service)}-deny`;
      world.fake.balancing.put(`global/firewalls/${name}`, { denied: [{ IPProtocol: 'all' }], priority: 1000 });
      world.fake.calls.length = 0;
      await remove(await example.driving());
      assert.deepEqual([...world.fake.balancing.resources.keys()], []);
      const deleted = world.fake.calls.flatMap(({ method, path }) =>
        method === 'DELETE' ? path.split('/').at(-1)! : [],
      );
      // Its load balancer tells whose it is, also after a crash.
      assert.equal(deleted[0], name);
    });
    await world.close();
  });

  it('names a rule that another Service has left and that denies its address, and serves it otherwise', async () => {
    const world = fakeGceWorld('target pools', '');
    await withExample(world, async (example) => {
      const { observed } = await ensure(await example.driving());
      const name = `k8s-fw-${loadBalancerName(newOwner(world.cluster).service)}-deny`;
      const destinationRanges = [`${observed!.ingress[0]!.ip}/32`];
      const rule = { denied: [{ IPProtocol: 'all' }], priority: 1000, destinationRanges };
      world.fake.balancing.put(`global/firewalls/${name}`, rule);
      const balancers = await example.fresh();
      await world.during(balancers.observeAll(world.cluster));
      const desired = { ...example.desired, healthCheck: { port: 31_999, path: '/healthz' } };
      const { refusals, calls } = await ensure(await example.driving({ balancers, desired }));
      assert.deepEqual(
        refusals.map(({ message }) => message),
        [`firewall rule ${name}: expected none: it denies what this Service serves; delete it`],
      );
      assert.ok(calls > 0);
      world.fake.balancing.resources.delete(`global/firewalls/${name}`);
    });
    await world.close();
  });
});
