import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../test/clouds/digitalocean/balancer-harness.ts';
import { port } from '../../../test/clouds/suite/desired.ts';
import { idAnnotation } from './annotations.ts';
import { parseName } from './names.ts';

/** What the classic controller made. */
async function classic(name?: string) {
  const harness = await createBalancerHarness();
  const id = await harness.world.createForeignLoadBalancer(name ?? harness.desired().name, undefined);
  await harness.age();
  const one = harness.balancer();
  const { proxy_protocol: _, ...check } = {
    protocol: 'http',
    port: 10_256,
    path: '/healthz',
    proxy_protocol: false,
    check_interval_seconds: 3,
    response_timeout_seconds: 5,
    unhealthy_threshold: 3,
    healthy_threshold: 5,
  };
  one.wire['health_check'] = check;
  one.wire.droplet_ids = harness.vms.map(({ providerID }) => Number(providerID.slice('digitalocean://'.length)));
  Object.assign(one.wire.forwarding_rules[0]!, { entry_port: 80, target_port: 30_080 });
  return { harness, id, ip: one.address.ip };
}

describe('what the classic controller made', () => {
  for (const [by, name, annotations] of [
    ['its name', undefined, {}],
    ['the name of the annotation', 'front', { name: 'front' }],
    ['the id of the annotation', 'whatever', { [idAnnotation]: 'ID' }],
  ] as const)
    it(`takes over a load balancer by ${by} and its address, unchanged until something is to change`, async () => {
      const { harness, id, ip } = await classic(name);
      const said = Object.fromEntries(
        Object.entries(annotations).map(([key, value]) => [key, value.replace('ID', id)]),
      );
      const before = structuredClone(harness.balancer().wire);
      const { seen, steps } = await harness.adopt({ addresses: [ip] }, { annotations: said });
      assert.deepEqual([seen?.id, seen?.adopted, steps], [id, true, []]);
      assert.deepEqual(harness.balancer().wire, before);
      const ask = { annotations: said, ports: [port(443, 30443)] };
      const taken = await harness.adopt({ addresses: [ip] }, ask);
      assert.match(taken.steps.join(), /take over.*forwarding_rules/);
      assert.equal(taken.seen?.members.length, 2);
      assert.equal(harness.balancer().id, id);
      assert.deepEqual(parseName(harness.balancer().wire.name)?.owner, harness.owner);
      assert.equal(harness.balancer().address.ip, ip);
    });

  it('takes over nothing by another address, nor by annotations where the status has no address', async () => {
    const { harness, id } = await classic('front');
    for (const addresses of [['192.0.2.99'], ['lb.example.com'], []])
      for (const annotations of [{ name: 'front' }, { [idAnnotation]: id }]) {
        const { seen } = await harness.adopt({ addresses }, { annotations });
        assert.notEqual(seen?.adopted, true, JSON.stringify([addresses, annotations]));
      }
  });

  it('takes over a load balancer by its usual name where the status shows a hostname alone', async () => {
    const { harness, id } = await classic();
    const { seen } = await harness.adopt({ addresses: ['lb.example.com'] });
    assert.deepEqual([seen?.id, seen?.adopted], [id, true]);
  });

  it('takes over no load balancer that is disowned', async () => {
    const { harness, ip } = await classic();
    const annotations = { 'service.kubernetes.io/do-loadbalancer-disown': 'true' };
    assert.notEqual((await harness.adopt({ addresses: [ip] }, { annotations })).seen?.adopted, true);
  });

  it('replaces the tag of a load balancer by the ids of its droplets with the first change', async () => {
    const { harness, ip } = await classic();
    harness.balancer().wire['tag'] = 'workers';
    await harness.age();
    await harness.adopt({ addresses: [ip] }, { ports: [port(443, 30443)] });
    assert.deepEqual([harness.balancer().wire['tag'], harness.balancer().wire.droplet_ids.length], ['', 2]);
  });

  it('takes over no load balancer that another Service has by now', async () => {
    const { harness, id, ip } = await classic('front');
    harness.balancer().wire.name = `shop.api.k8s.${harness.world.cluster}.77777777-7777-4888-8999-000000000000`;
    const { seen } = await harness.adopt({ addresses: [ip] }, { annotations: { [idAnnotation]: id } });
    assert.notEqual(seen?.adopted, true);
  });
});

describe('a load balancer that was renamed by hand', () => {
  it('leaves a load balancer that was renamed by hand alone until it has its name again', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const { name } = harness.balancer().wire;
    harness.balancer().wire.name = 'mine';
    await harness.age();
    const changed = { ports: [port(443, 30443)] };
    const { refusals, calls } = await harness.settle(changed);
    assert.deepEqual([refusals.map(({ reason }) => reason), calls], [['ForeignLoadBalancer'], 0]);
    assert.equal(harness.balancer().wire.name, 'mine');
    harness.balancer().wire.name = name;
    await harness.age();
    await harness.settle(changed);
    assert.equal(harness.balancer().wire.forwarding_rules[0]?.['entry_port'], 443);
  });
});

describe('a load balancer that is retained', () => {
  it('gets a name that says so, and belongs to no Service afterwards', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const { id } = harness.balancer();
    await harness.remove({ retain: true });
    const mark = parseName(harness.balancer().wire.name);
    assert.deepEqual([harness.balancer().id, mark?.isKept, mark?.service], [id, true, 'shop/web']);
    await harness.world.pass(10_000);
    await harness.restart();
    await harness.settle();
    assert.equal(harness.world.fake.balancers.size, 2);
  });
});
