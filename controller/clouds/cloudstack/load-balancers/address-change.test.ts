import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../../test/clouds/cloudstack/balancer-harness.ts';

const ask = { address: '192.0.2.77', mayChangeAddress: true };

describe('another address that the Service names', () => {
  it('tags another address before anything is on it, and releases the old one last', async () => {
    for (const acl of [undefined, 'nodes']) {
      const harness = await createBalancerHarness(acl === undefined ? {} : { acl });
      await harness.settle();
      harness.changes();
      const { observed } = await harness.settle(ask);
      assert.deepEqual(observed?.ingress, [{ ip: '192.0.2.77', ipMode: 'VIP' }]);
      const opening = acl === undefined ? ['createFirewallRule'] : [];
      assert.deepEqual(harness.changes(), [
        'createTags',
        'associateIpAddress',
        'createTags',
        'createLoadBalancerRule',
        'assignToLoadBalancerRule',
        ...opening,
        'disassociateIpAddress',
        'deleteTags',
      ]);
    }
  });

  it('puts nothing on another address while its tags are refused, and the old one serves', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    await harness.settle();
    const before = [harness.rules(), harness.openings()];
    fake.forbidden.add('createTags');
    await assert.rejects(harness.settle(ask), { kind: 'Forbidden' });
    assert.deepEqual([[harness.rules(), harness.openings()], fake.addresses.size], [before, 2]);
    fake.forbidden.clear();
    await harness.settle(ask);
    assert.deepEqual([harness.address().ip, harness.rules().length], [ask.address, 1]);
  });

  it('changes to the address that the Service names, wherever the process ends in between', async () => {
    for (let last = 0; last < 8; last += 1) {
      const harness = await createBalancerHarness();
      const { fake, pass } = harness.world;
      await harness.settle();
      let sent = 0;
      fake.fault = ({ name }) => {
        const isOver = sent >= last;
        if (!/^(list|query)/.test(name)) sent += 1;
        return isOver ? { status: 503, body: {} } : undefined;
      };
      await harness.settle(ask).catch(() => undefined);
      fake.fault = undefined;
      await pass(20_000);
      await harness.restart();
      await harness.settle(ask);
      const [served] = harness.rules().map(({ address }) => fake.addresses.get(address)?.ip);
      assert.deepEqual([served, fake.addresses.size, harness.rules().length], ['192.0.2.77', 1, 1], `after ${last}`);
      assert.equal(harness.address().tags['mooring.dev/service-uid'], harness.owner.service);
      await harness.remove(ask);
      assert.deepEqual([fake.addresses.size, fake.network.tags], [0, {}], `after ${last}`);
    }
  });
});
