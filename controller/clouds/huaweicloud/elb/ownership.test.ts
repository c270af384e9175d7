import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createBalancerHarness, makeAsClassic } from '../../../../test/clouds/huawei/balancer-harness.ts';
import { newOwner, port } from '../../../../test/clouds/suite/desired.ts';
import { answerFields } from '../../answer-fields.ts';
import { prefix } from '../annotations.ts';
import type { HuaweiClient } from '../client.ts';
import { noOptions } from '../options.ts';
import { createLoadBalancerDriver } from './driver.ts';
import { foundBalancer, foundEip } from './found.ts';

const noConfig = { vpc: undefined, subnet: undefined, securityGroup: undefined };

const made = { 'eip-auto-create-option': '{"bandwidth_size":5}' };
const two = [
  [80, 30_080],
  [443, 30_443],
] as const;
const ports = [port(80, 30_080), port(443, 30_443)];

describe('what the classic controller made on Huawei Cloud', () => {
  it('takes over a classic load balancer without a change, dedicated or shared, with an EIP or without', async () => {
    for (const isShared of [false, true])
      for (const hasEip of [false, true]) {
        const harness = await createBalancerHarness();
        const on = hasEip ? harness.eip() : undefined;
        const one = makeAsClassic(harness, two, { isShared, ...(on && { on }) });
        const annotations = { class: isShared ? 'shared' : 'dedicated', ...(hasEip && made) };
        const shown = [on?.address ?? String(one['vip_address'])];
        const { seen, steps } = await harness.adopt(shown, { ports, annotations });
        assert.deepEqual([seen?.id, seen?.adopted, steps], [one.id, true, []]);
        assert.deepEqual(
          seen?.ingress.map(({ ip }) => ip),
          shown,
        );
        assert.deepEqual(harness.changes(), []);
        await harness.world.close();
      }
  });

  it('keeps all of it as it is, EIP included, while an annotation cannot be read', async () => {
    const harness = await createBalancerHarness();
    const on = harness.eip();
    makeAsClassic(harness, two, { on });
    // Another node port, so that nothing else than what stands is known to be good.
    const ask = { ports: [port(80, 31_080)], annotations: { ...made, 'lb-algorithm': 'no' } };
    await harness.adopt([on.address], ask);
    const { refusals } = await harness.settle(ask);
    assert.match(refusals[0]?.message ?? '', /lb-algorithm/);
    assert.deepEqual(harness.changes(), []);
    await harness.world.close();
  });

  it('gets our marks with the first change that is needed anyway, and goes with its Service, EIP and all', async () => {
    const harness = await createBalancerHarness();
    const on = harness.eip();
    const one = makeAsClassic(harness, two, { on });
    const ask = { ports: [port(80, 31_080)], annotations: made };
    await harness.adopt([on.address], ask);
    await harness.settle(ask);
    const { owner } = harness.desired();
    assert.equal(one['description'], `mooring ${owner.cluster} ${owner.service} shop/web eip`);
    assert.match(on.alias, /^mooring\./);
    assert.deepEqual(
      [...harness.world.fake.balancing.listeners.values()].map((each) => each['name']),
      ['web_TCP_80'],
    );
    await harness.remove(ask);
    const { loadbalancers, eips } = harness.world.fake.balancing;
    assert.deepEqual([loadbalancers.size, eips.size], [0, 0]);
    await harness.world.close();
  });

  it('leaves an EIP that the annotation eip-id names to whose it is', async () => {
    const harness = await createBalancerHarness();
    const on = harness.eip();
    makeAsClassic(harness, two, { on });
    const ask = { ports: [port(80, 31_080)], annotations: { 'eip-id': on.id } };
    await harness.adopt([on.address], ask);
    await harness.settle(ask);
    await harness.remove(ask);
    assert.deepEqual([...harness.world.fake.balancing.eips.values()], [on]);
    assert.deepEqual([on.on, on.alias, on.description], ['', 'front', '']);
    await harness.world.close();
  });

  it('adopts no EIP of eip-id, even where the Service asks for a new one beside it', () => {
    const fields = (one: object) => answerFields(one, { cloud: 'huaweicloud', operation: 'test' });
    const [eip_id, eip_address, id] = [randomUUID(), '203.0.113.7', randomUUID()];
    const balancer = { id, name: 'k8s_service_kubernetes_shop_web', eips: [{ eip_id, eip_address }] };
    const eip = foundEip(fields({ id: eip_id, public_ip_address: eip_address }));
    const { adopts } = createLoadBalancerDriver({} as HuaweiClient, noConfig, noOptions);
    const keyWith = (...names: readonly string[]) =>
      adopts!(eip, {
        owner: newOwner(randomUUID()),
        service: 'shop/web',
        name: 'a1',
        id: undefined,
        found: (kind) => foundBalancer(fields(balancer)).filter((one) => one.kind === kind),
        proof: {
          clusterName: 'kubernetes',
          addresses: [eip_address],
          annotations: Object.fromEntries(names.map((one) => [prefix + one, '{}'])),
        },
      });
    assert.equal(keyWith('eip-auto-create-option'), 'main');
    assert.equal(keyWith('eip-auto-create-option', 'eip-id'), undefined);
  });

  it('leaves a load balancer of the same name and private address in another VPC alone', async () => {
    const vpc = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
    const harness = await createBalancerHarness({ env: { ROUTER_ID: vpc } });
    const one = makeAsClassic(harness, two);
    const address = String(one['vip_address']);
    assert.equal((await harness.adopt([address], { ports })).seen, undefined);
    one['vpc_id'] = vpc;
    assert.equal((await harness.adopt([address], { ports })).seen?.id, one.id);
    await harness.world.close();
  });

  it('leaves a load balancer alone without its address, with another name, and where several agree', async () => {
    const harness = await createBalancerHarness();
    const one = makeAsClassic(harness, two);
    const address = String(one['vip_address']);
    assert.equal((await harness.adopt(['192.0.2.1'], { ports })).seen, undefined);
    one['name'] = 'k8s_service_other_shop_web';
    assert.equal((await harness.adopt([address], { ports })).seen, undefined);
    one['name'] = 'k8s_service_kubernetes_shop_web';
    makeAsClassic(harness, [])['vip_address'] = address;
    assert.equal((await harness.adopt([address], { ports })).seen, undefined);
    assert.deepEqual(harness.changes(), []);
    await harness.world.close();
  });

  it('names load balancer, listeners and pools so that the classic controller finds them again', async () => {
    const harness = await createBalancerHarness();
    await harness.settle({ ports });
    const { listeners, pools } = harness.world.fake.balancing;
    assert.equal(harness.balancer()['name'], 'k8s_service_kubernetes_shop_web');
    assert.deepEqual([...listeners.values(), ...pools.values()].map((one) => one['name']).sort(), [
      'sg_web_TCP_443',
      'sg_web_TCP_80',
      'web_TCP_443',
      'web_TCP_80',
    ]);
    for (const one of listeners.values()) assert.ok(pools.has(String(one['default_pool_id'])));
    await harness.world.close();
  });
});

describe('a load balancer of ours on Huawei Cloud', () => {
  it('keeps a load balancer while it has a listener of others, and says so', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const { listeners } = harness.world.fake.balancing;
    const [ours] = listeners.values();
    const theirs = { ...ours!, id: 'b0c7dbb6-5be0-4a2a-8a39-58bd4d2f9d01', name: 'theirs', protocol_port: 8443 };
    listeners.set(theirs.id, theirs);
    await assert.rejects(harness.remove(), /has listeners of others: b0c7dbb6/);
    assert.ok(listeners.has(theirs.id));
    listeners.delete(theirs.id);
    await harness.remove();
    assert.equal(harness.world.fake.balancing.loadbalancers.size, 0);
    await harness.world.close();
  });
});
