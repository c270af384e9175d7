import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { zoneMaps } from '../../../../test/clouds/alibaba/alibaba-world.ts';
import { type BalancerHarness, createBalancerHarness } from '../../../../test/clouds/alibaba/balancer-harness.ts';
import { networkClass } from '../annotations.ts';

const refused = { status: 400, body: { Code: 'QuotaExceeded.AclEntry', Message: 'too many' } };
const listsOf = ({ world: { fake } }: BalancerHarness) => [...fake.lists.values()];
const listenersOf = ({ world: { fake } }: BalancerHarness) =>
  [...fake.balancers.values()].flatMap(({ listeners }) => [...listeners.values()]);

/** As the cloud has it, an access list without a range lets everybody in. */
describe('a Service of Alibaba Cloud that names its clients', () => {
  it('gets no listener while its access list has no range', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    fake.fault = (action) => (action === 'AddAccessControlListEntry' ? refused : undefined);
    const sourceRanges = ['10.0.0.0/8'];
    await assert.rejects(harness.settle({ sourceRanges }), /QuotaExceeded.AclEntry/);
    assert.deepEqual(listenersOf(harness), []);
    fake.fault = undefined;
    await harness.settle({ sourceRanges });
    assert.equal(listenersOf(harness).length, 1);
    await harness.world.close();
  });

  it('lets no client in where no range is of the IP version that is served', async () => {
    const harness = await createBalancerHarness();
    await harness.settle({ sourceRanges: ['2001:db8::/32'] });
    assert.deepEqual(
      listsOf(harness).map(({ entries }) => entries),
      [['127.0.0.1/32']],
    );
    await harness.settle({ sourceRanges: ['2001:db8::/32', '192.0.2.0/24'] });
    assert.deepEqual(listsOf(harness)[0]?.entries, ['192.0.2.0/24']);
    await harness.world.close();
  });

  it('keeps the ranges of the address that stands, and has others with the new one', async () => {
    const harness = await createBalancerHarness();
    const sourceRanges = ['10.0.0.0/8', '2001:db8::/32'];
    await harness.settle({ sourceRanges });
    const other = { sourceRanges, annotations: { 'ip-version': 'ipv6' } };
    const { refusals } = await harness.settle(other);
    assert.match(JSON.stringify(refusals), /AddressWouldChange/);
    const shown = () => listsOf(harness).map(({ version, entries }) => [version, ...entries]);
    assert.deepEqual(shown(), [['ipv4', '10.0.0.0/8']]);
    await harness.settle({ ...other, mayChangeAddress: true });
    assert.deepEqual(shown(), [['ipv6', '2001:db8::/32']]);
    assert.equal(listenersOf(harness)[0]?.wire['AclId'], listsOf(harness)[0]?.id);
    await harness.world.close();
  });

  it('changes nothing while the annotations leave the source ranges without effect', async () => {
    const harness = await createBalancerHarness();
    const sourceRanges = ['10.0.0.0/8'];
    await harness.settle({ sourceRanges });
    harness.changes();
    for (const annotations of [{ 'acl-status': 'off' }, { 'acl-id': 'acl-bp1theirs' }]) {
      const { refusals } = await harness.settle({ sourceRanges, annotations });
      assert.match(JSON.stringify(refusals), /spec.loadBalancerSourceRanges/);
      assert.deepEqual(harness.changes(), []);
    }
    assert.equal(listenersOf(harness)[0]?.wire['AclStatus'], 'on');
    await harness.world.close();
  });
});

describe('a Network Load Balancer with security groups', () => {
  it('gets no listener before it has joined them', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    fake.fault = (action) => (action === 'LoadBalancerJoinSecurityGroup' ? refused : undefined);
    const ask = {
      loadBalancerClass: networkClass,
      annotations: { 'zone-maps': zoneMaps, 'security-group-ids': 'sg-bp1a' },
    };
    await assert.rejects(harness.settle(ask), /LoadBalancerJoinSecurityGroup: 400 QuotaExceeded/);
    const ports = () => [...fake.networks.values()].flatMap(({ listeners }) => [...listeners.keys()]);
    assert.deepEqual(ports(), []);
    fake.fault = undefined;
    await harness.settle(ask);
    assert.equal(ports().length, 1);
    await harness.world.close();
  });
});
