import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../../test/clouds/huawei/balancer-harness.ts';
import { memberOf } from '../../../../test/clouds/suite/desired.ts';

const annotations = { 'enable-cross-vpc': 'true' };

describe('members by address, which the cloud knows no ECS of', () => {
  it('shows members by address as those of their Nodes, and keeps them while addresses are unknown', async () => {
    const harness = await createBalancerHarness();
    const { vms } = harness;
    const ids = vms.map(({ providerID }) => providerID).sort();
    const { observed } = await harness.settle({ annotations });
    assert.deepEqual(observed?.members.map(({ providerID }) => providerID).sort(), ids);
    harness.changes();
    const members = vms.map((vm) => ({ ...memberOf(vm), addresses: [] }));
    await harness.settleAnew({ annotations, members });
    assert.deepEqual(harness.changes(), []);
    await harness.world.close();
  });
});
