import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Ask, createBalancerHarness } from '../../../../test/clouds/huawei/balancer-harness.ts';

const made = { 'eip-auto-create-option': '{"bandwidth_size":5}' };

describe('the address of a load balancer on Huawei Cloud', () => {
  it('makes a new EIP where the Service asks for one, and deletes it with the Service', async () => {
    const harness = await createBalancerHarness();
    const { observed } = await harness.settle({ annotations: made });
    const [eip] = harness.world.fake.balancing.eips.values();
    assert.deepEqual(observed?.ingress, [{ ip: eip?.address }]);
    assert.equal(eip?.bandwidth['size'], 5);
    harness.changes();
    await harness.remove({ annotations: made });
    assert.deepEqual(harness.changes(), ['DELETE v3 elb loadbalancers {id} force-elb', 'DELETE v1 publicips {id}']);
    await harness.world.close();
  });

  it('keeps the EIP of keep-eip for its namespace, and deletes it where the operator forbids that', async () => {
    const annotations = { ...made, 'keep-eip': 'true' };
    const harness = await createBalancerHarness();
    const { eips } = harness.world.fake.balancing;
    await harness.settle({ annotations });
    await harness.remove({ annotations });
    const [kept] = eips.values();
    assert.deepEqual([kept?.on, kept?.description], ['', 'mooring.dev/retained=shop/web']);
    const again = { 'eip-id': kept!.id };
    const foreign = await harness.settleAnew({ annotations: again, service: 'other/web' });
    assert.match(foreign.refusals[0]!.message, /has no tag mooring.dev\/attachable-by/);
    assert.deepEqual((await harness.settleAnew({ annotations: again })).observed?.ingress, [{ ip: kept!.address }]);
    await harness.world.close();

    const strict = await createBalancerHarness();
    const { refusals } = await strict.settle({ annotations, mayKeepAddress: false });
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['RetentionNotAllowed'],
    );
    await strict.remove({ annotations });
    assert.equal(strict.world.fake.balancing.eips.size, 0);
    await strict.world.close();
  });

  it('takes an EIP of others only with consent in its description, and none that is in use', async () => {
    const harness = await createBalancerHarness();
    const eip = harness.eip();
    const annotations = { 'eip-id': eip.id };
    const message = async () => (await harness.settleAnew({ annotations })).refusals[0]?.message ?? '';
    assert.match(await message(), /the description of EIP .* has no tag mooring.dev\/attachable-by/);
    assert.equal(harness.world.fake.balancing.loadbalancers.size, 0);
    eip.description = `mooring.dev/attachable-by=${harness.world.cluster}/shop`;
    eip.on = await harness.world.createForeignLoadBalancer('theirs', undefined);
    assert.match(await message(), /is in use by/);
    await harness.world.deleteLoadBalancer(eip.on);
    assert.equal(await message(), '');
    assert.equal(eip.on, harness.balancer().id);
    await harness.world.close();
  });

  it('changes only with consent: between private address, new EIP and EIP of others', async () => {
    const harness = await createBalancerHarness();
    const other = harness.eip(`mooring.dev/attachable-by=${harness.world.cluster}/shop`);
    const asks: readonly Ask[] = [
      {},
      { annotations: made },
      { annotations: { 'eip-id': other.id } },
      { annotations: {} },
      { annotations: { 'eip-id': other.id } },
    ];
    let shown = '';
    for (const ask of asks) {
      if (shown !== '') {
        const { refusals, observed } = await harness.settle(ask);
        assert.deepEqual(
          refusals.map(({ reason }) => reason),
          ['AddressWouldChange'],
        );
        assert.equal(observed?.ingress[0]?.ip, shown);
      }
      const { observed } = await harness.settle({ ...ask, mayChangeAddress: true });
      assert.notEqual(observed?.ingress[0]?.ip, shown);
      shown = observed?.ingress[0]?.ip ?? '';
    }
    assert.equal(shown, other.address);
    assert.equal(harness.world.fake.balancing.eips.size, 1);
    await harness.world.close();
  });
});
