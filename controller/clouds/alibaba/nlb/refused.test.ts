import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { zoneMaps } from '../../../../test/clouds/alibaba/alibaba-world.ts';
import {
  type Ask,
  type BalancerHarness,
  createBalancerHarness,
} from '../../../../test/clouds/alibaba/balancer-harness.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import { networkClass } from '../annotations.ts';

const classic: Ask = { ports: [port(80, 30_080)] };
const network: Ask = { ...classic, loadBalancerClass: networkClass, annotations: { 'zone-maps': zoneMaps } };
const forbidden = /alibaba List\w+: 403 NoPermission/;

/** The policy of the account allows nothing of Network Load Balancers, or all but the lists. */
function refuse({ world: { fake } }: BalancerHarness, what: RegExp = /^nlb:/) {
  const body = { Code: 'NoPermission', Message: 'You are not authorized to do this action' };
  fake.fault = (_action, whole) => (what.test(whole) ? { status: 403, body } : undefined);
}

describe('an account that may not use Network Load Balancers', () => {
  it('creates, changes, finds again and deletes classic ones', async () => {
    const harness = await createBalancerHarness();
    refuse(harness);
    await harness.settle(classic);
    await harness.restart();
    await harness.settle({ ports: [port(80, 30_080), port(443, 30_443)] });
    assert.equal(harness.balancer().listeners.size, 2);
    await harness.remove(classic);
    assert.equal(harness.world.fake.balancers.size, 0);
    await harness.world.close();
  });

  it('tells in `check` that the account may not use Network Load Balancers, as no failure', async () => {
    const harness = await createBalancerHarness();
    refuse(harness);
    const { check } = await harness.world.open();
    const shown = (await harness.world.during(check())).filter(({ name }) => name.includes('load balancers'));
    assert.deepEqual(
      shown.map(({ ok }) => ok),
      [true, null],
    );
    assert.match(shown[1]!.message, /403 NoPermission.*only Services of the class alibabacloud.com\/nlb need it/);
    await harness.world.close();
  });

  it('says so on the Services of that class, and neither makes a second one nor takes one for gone', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    await harness.settle(network);
    refuse(harness, /^nlb:List/);
    await harness.restart();
    await assert.rejects(harness.settle({ ...network, ports: [port(443, 30_443)] }), forbidden);
    await assert.rejects(harness.remove(network), forbidden);
    // Now it asks for the other type.
    await assert.rejects(harness.settle({ ...classic, mayChangeAddress: true }), forbidden);
    assert.deepEqual([fake.networks.size, fake.balancers.size], [1, 0]);
    fake.fault = undefined;
    await harness.remove(network);
    assert.equal(fake.networks.size, 0);
    await harness.world.close();
  });

  it('makes no second one where the answer to a create was lost', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    harness.world.loseAnswer!(0);
    // From the create on, whose answer is lost.
    fake.fault = (_action, whole) => void (whole === 'nlb:CreateLoadBalancer' && refuse(harness, /^nlb:List/));
    await assert.rejects(harness.settle(network), forbidden);
    await harness.restart();
    await assert.rejects(harness.settle(network), forbidden);
    await assert.rejects(harness.remove(network), forbidden);
    assert.equal(fake.networks.size, 1);
    fake.fault = undefined;
    await harness.settle(network);
    assert.equal(fake.networks.size, 1);
    await harness.world.close();
  });

  it('keeps what an audit showed before', async () => {
    const harness = await createBalancerHarness();
    const { world } = harness;
    await harness.settle(network);
    const { loadBalancers } = await world.open();
    const seen = () => world.during(loadBalancers!.observeAll(world.cluster));
    assert.equal((await seen()).length, 1);
    refuse(harness);
    assert.equal((await seen()).length, 1);
    world.fake.fault = undefined;
    await world.deleteLoadBalancer([...world.fake.networks.keys()][0]!);
    world.fake.networkGroups.clear();
    assert.deepEqual(await seen(), []);
    await world.close();
  });
});
