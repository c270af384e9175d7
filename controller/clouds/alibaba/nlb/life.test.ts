import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { zoneMaps } from '../../../../test/clouds/alibaba/alibaba-world.ts';
import {
  type Ask,
  type BalancerHarness,
  createBalancerHarness,
} from '../../../../test/clouds/alibaba/balancer-harness.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import { ownerTags } from '../../load-balancers.ts';
import { networkClass } from '../annotations.ts';

const ask = (annotations: Ask['annotations'] = {}, more: Ask = {}): Ask => ({
  loadBalancerClass: networkClass,
  ports: [port(80, 30_080)],
  ...more,
  annotations: { 'zone-maps': zoneMaps, ...annotations },
});

/** What the classic controller makes: a load balancer and a server group with its own tags alone. */
function asClassic({ world: { fake }, owner }: BalancerHarness) {
  const name = `a${owner.service.replaceAll('-', '')}`.slice(0, 32);
  const [one] = fake.networks.values();
  const tags = ['kubernetes.do.not.delete', 'ack.aliyun.com'];
  for (const { tags: all } of [one!, ...fake.networkGroups.values()])
    for (const key of [...all.keys()]) if (!tags.includes(key)) all.delete(key);
  assert.equal(one!.tags.get(tags[0]!), name);
  return one!;
}

describe('a Network Load Balancer', () => {
  it('gives no public address where the operator has disabled them', async () => {
    const harness = await createBalancerHarness({ DISABLE_PUBLIC_SLB: 'true' });
    await harness.settle(ask());
    const [one] = harness.world.fake.networks.values();
    assert.equal(one!.wire['AddressType'], 'Intranet');
    await harness.world.close();
  });

  it('creates a Network Load Balancer for a Service of its class, with a group and a listener', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const { observed } = await harness.settle(ask());
    assert.deepEqual(harness.changes().sort(), [
      'AddServersToServerGroup',
      'CreateListener',
      'CreateLoadBalancer',
      'CreateServerGroup',
    ]);
    const [one] = fake.networks.values();
    assert.deepEqual(observed?.ingress, [{ hostname: one!.wire['DNSName'] }]);
    const [group] = fake.networkGroups.values();
    assert.equal(group!.wire['ServerGroupName'], 'k8s.30080.TCP.web.shop.clusterid');
    assert.equal(group!.servers.length, 2);
    assert.equal(fake.balancers.size, 0);
    await harness.world.close();
  });

  it('adds no listener where a Service has source ranges, which the type cannot keep', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    const narrowed: Ask = { sourceRanges: ['192.0.2.0/24'], ports: [port(80, 30_080), port(443, 30_443)] };
    const { refusals } = await harness.settle(ask({}, narrowed));
    assert.match(refusals[0]!.message, /^spec.loadBalancerSourceRanges: 192.0.2.0\/24, expected none/);
    assert.deepEqual(harness.changes(), []);
    await harness.settle(ask());
    await harness.settle(ask({}, narrowed));
    const ports = () => [...fake.networks.values()].flatMap(({ listeners }) => [...listeners.keys()]);
    assert.equal(ports().length, 1, 'what stands is kept');
    await harness.settle(ask({}, { ...narrowed, sourceRanges: [] }));
    assert.equal(ports().length, 2);
    await harness.world.close();
  });

  it('changes nothing while its zones are missing or an annotation is of the other type', async () => {
    const harness = await createBalancerHarness();
    await harness.settle(ask());
    harness.changes();
    for (const [annotations, name] of [
      [{ 'zone-maps': '' }, 'zone-maps'],
      [{ 'zone-maps': zoneMaps.split(',')[0]! }, 'zone-maps'],
      [{ spec: 'slb.s1.small' }, 'spec'],
      [{ 'server-group-type': 'ip' }, 'server-group-type'],
    ] as const) {
      const { observed: _, ...driven } = await harness.settle(ask(annotations));
      assert.match(JSON.stringify(driven), new RegExp(`alibaba-cloud-loadbalancer-${name}`));
      assert.deepEqual(harness.changes(), []);
    }
    await harness.world.close();
  });

  it('takes over a Network Load Balancer of the classic controller, and keeps its group and tag', async () => {
    const harness = await createBalancerHarness();
    await harness.settle(ask());
    const one = asClassic(harness);
    await harness.restart();
    harness.changes();
    const addresses = [String(one.wire['DNSName'])];
    const { seen } = await harness.adopt({ addresses }, ask());
    assert.equal(seen?.id, one.id);
    assert.deepEqual(harness.changes(), []);
    await harness.adopt({ addresses }, ask({ cps: '100' }));
    await harness.settle(ask({ cps: '100' }));
    assert.equal(one.tags.get(ownerTags.service), harness.owner.service);
    assert.ok(one.tags.has('kubernetes.do.not.delete'));
    assert.equal(harness.world.fake.networkGroups.size, 1);
    await harness.remove(ask());
    assert.equal(harness.world.fake.networks.size + harness.world.fake.networkGroups.size, 0);
    await harness.world.close();
  });
});
