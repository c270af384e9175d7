import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { zoneMaps } from '../../../test/clouds/alibaba/alibaba-world.ts';
import { type Ask, createBalancerHarness } from '../../../test/clouds/alibaba/balancer-harness.ts';
import { networkClass } from './annotations.ts';

const asks = {
  Classic: {},
  Network: { loadBalancerClass: networkClass, annotations: { 'zone-maps': zoneMaps } },
} as const satisfies Record<string, Ask>;

for (const [type, ask] of Object.entries(asks))
  describe(`a ${type} Load Balancer that lists no longer show`, () => {
    it('makes no second load balancer where lists lack one, until a request for it says that it is gone', async () => {
      const harness = await createBalancerHarness();
      const { fake } = harness.world;
      await harness.settle(ask);
      const [id] = [...fake.balancers.keys(), ...fake.networks.keys()];
      fake.hidden.add(id!);
      await harness.restart();
      harness.changes();
      const other: Ask = { ...ask, sessionAffinity: { timeoutSeconds: 600 } };
      await assert.rejects(harness.settle(other), /exists, and the list for that very id does not show it/);
      await assert.rejects(harness.remove(ask), /exists, and the list/);
      assert.deepEqual(harness.changes(), []);
      await harness.world.deleteLoadBalancer(id!);
      await harness.remove(ask);
      assert.equal(fake.networkGroups.size, 0);
      await harness.world.close();
    });

    it('takes no 404 about something else for the end of a load balancer', async () => {
      const harness = await createBalancerHarness();
      const { world } = harness;
      await harness.settle(ask);
      await world.deleteLoadBalancer([...world.fake.balancers.keys(), ...world.fake.networks.keys()][0]!);
      const body = { Code: 'InvalidAction.NotFound', Message: 'no such action' };
      world.fake.fault = (action) => (/LoadBalancerAttribute$/.test(action) ? { status: 404, body } : undefined);
      await harness.restart();
      await assert.rejects(harness.remove(ask), /InvalidAction.NotFound|no end/);
      world.fake.fault = undefined;
      await harness.remove(ask);
      await world.close();
    });
  });
