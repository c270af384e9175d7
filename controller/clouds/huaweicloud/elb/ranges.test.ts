import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../../test/clouds/huawei/balancer-harness.ts';

const sourceRanges = ['192.0.2.0/24'];

describe('the source ranges of a Service on Huawei Cloud', () => {
  it('restores source ranges as a white list where a person made them a black list', async () => {
    const harness = await createBalancerHarness();
    await harness.settle({ sourceRanges });
    const [listener] = harness.world.fake.balancing.listeners.values();
    const used = listener!['ipgroup'] as object;
    assert.deepEqual({ ...used, ipgroup_id: '' }, { ipgroup_id: '', enable_ipgroup: true, type: 'white' });
    listener!['ipgroup'] = { ...used, type: 'black' };
    await harness.settleAnew({ sourceRanges });
    assert.deepEqual(listener!['ipgroup'], used);
    await harness.world.close();
  });

  it('sends nothing again where the cloud shows one address without its length', async () => {
    const harness = await createBalancerHarness();
    const one = { sourceRanges: ['203.0.113.7/32'] };
    await harness.settle(one);
    const [group] = harness.world.fake.balancing.ipgroups.values();
    group!['ip_list'] = [{ ip: '203.0.113.7', description: '' }];
    assert.equal((await harness.settleAnew(one)).calls, 0);
    await harness.world.close();
  });

  it('leaves the IP group of a person on a listener as it is when the source ranges go', async () => {
    const harness = await createBalancerHarness();
    await harness.settle({ sourceRanges });
    const [listener] = harness.world.fake.balancing.listeners.values();
    const theirs = { ipgroup_id: 'b0c7dbb6-5be0-4a2a-8a39-58bd4d2f9d01', enable_ipgroup: true, type: 'white' };
    listener!['ipgroup'] = theirs;
    await harness.settleAnew();
    assert.deepEqual(listener!['ipgroup'], theirs);
    await harness.world.close();
  });
});
