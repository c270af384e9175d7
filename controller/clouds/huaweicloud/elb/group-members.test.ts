import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../../test/clouds/huawei/balancer-harness.ts';

const group = '7d2c1b0a-3e4f-4a5b-8c6d-9e0f1a2b3c4d';
const env = { SECURITY_GROUP_ID: group };

describe('the security group of the configuration of Huawei Cloud', () => {
  it('gets each member once, which keeps its other groups, and stays in it when the Service goes', async () => {
    const harness = await createBalancerHarness({ env });
    const { servers } = harness.world.fake;
    await harness.world.createVm();
    const before = [...servers.values()].map(({ groups }) => groups);
    await harness.settle();
    const joined = () => [...servers.values()].map(({ groups }) => groups.includes(group));
    assert.deepEqual(joined(), [true, true, false]);
    for (const [at, { groups }] of [...servers.values()].entries())
      assert.deepEqual(
        groups.filter((one) => one !== group),
        before[at],
      );
    harness.changes();
    await harness.settle();
    assert.deepEqual(harness.changes(), []);
    await harness.remove();
    assert.deepEqual(harness.changes(), ['DELETE v3 elb loadbalancers {id} force-elb']);
    assert.deepEqual(joined(), [true, true, false]);
    await harness.world.close();
  });

  it('leaves the security group out of the record of a Service, which has no room for every Node', async () => {
    const harness = await createBalancerHarness({ env });
    const { observed } = await harness.settle();
    assert.match(observed?.notes ?? '', /load%20balancer/);
    assert.doesNotMatch(observed?.notes ?? '', /security%20group/);
    await harness.world.close();
  });

  it('leaves the security group alone where every member is in it', async () => {
    const harness = await createBalancerHarness({ env });
    for (const server of harness.world.fake.servers.values()) server.groups = [group];
    await harness.settle();
    assert.ok(harness.changes().every((one) => !one.includes('servers')));
    await harness.settleAnew();
    assert.deepEqual(harness.changes(), []);
    await harness.world.close();
  });
});
