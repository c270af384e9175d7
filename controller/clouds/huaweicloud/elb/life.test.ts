import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../../test/clouds/huawei/balancer-harness.ts';
import { memberOf, port } from '../../../../test/clouds/suite/desired.ts';

describe('a load balancer of Huawei Cloud', () => {
  it('loses a port although its listener has a pool', async () => {
    const harness = await createBalancerHarness();
    const { balancing } = harness.world.fake;
    await harness.settle({ ports: [port(80, 30080), port(443, 30443)] });
    await harness.settle({ ports: [port(80, 30080)] });
    assert.deepEqual(
      [...balancing.listeners.values()].map(({ protocol_port: number }) => number),
      [80],
    );
    assert.equal(balancing.pools.size, 1);
    await harness.world.close();
  });

  it('sends nothing new to a Node that drains: by its weight, or without it where weights have no effect', async () => {
    for (const [algorithm, weights] of [
      ['ROUND_ROBIN', [0, 1]],
      ['SOURCE_IP', [1]],
    ] as const) {
      const harness = await createBalancerHarness();
      const ask = { annotations: { 'lb-algorithm': algorithm } };
      await harness.settle(ask);
      await harness.settle({ ...ask, members: harness.vms.map((vm, at) => memberOf(vm, at === 0)) });
      const members = [...harness.world.fake.balancing.members.values()];
      assert.deepEqual(members.map(({ weight }) => weight).sort(), weights, algorithm);
      await harness.world.close();
    }
  });
});
