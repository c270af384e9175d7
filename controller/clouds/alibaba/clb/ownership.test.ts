import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness, makeAsClassic } from '../../../../test/clouds/alibaba/balancer-harness.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import { ownerTags } from '../../load-balancers.ts';

const addresses = ['121.40.7.7'];

describe('what the classic controller made on Alibaba Cloud', () => {
  it('takes over a load balancer of the classic controller without a change, parts and all', async () => {
    const harness = await createBalancerHarness();
    const one = makeAsClassic(harness, [
      [80, 30_080],
      [443, 30_443],
    ]);
    const before = structuredClone([one.wire, [...one.listeners.values()].map(({ wire }) => wire)]);
    const ports = [port(80, 30_080), port(443, 30_443)];
    const { seen, steps } = await harness.adopt({ addresses }, { ports });
    assert.equal(seen?.id, one.id);
    assert.deepEqual(steps, []);
    assert.deepEqual(structuredClone([one.wire, [...one.listeners.values()].map(({ wire }) => wire)]), before);
    await harness.world.close();
  });

  it('gets our tags with the first change that is needed anyway, and keeps its own', async () => {
    const harness = await createBalancerHarness();
    const one = makeAsClassic(harness, [[80, 30_080]]);
    await harness.adopt({ addresses }, { ports: [port(80, 31_080)] });
    await harness.settle({ ports: [port(80, 31_080)] });
    assert.equal(harness.balancer(), one);
    assert.equal(one.tags.get(ownerTags.service), harness.owner.service);
    assert.ok(one.tags.has('kubernetes.do.not.delete'));
    assert.deepEqual(
      [...one.groups.values()].map(({ name }) => name),
      ['k8s/31080/web/shop/clusterid'],
    );
    await harness.world.close();
  });

  it('loses the addresses of pods that were its servers, once Nodes are', async () => {
    const harness = await createBalancerHarness();
    const one = makeAsClassic(harness, [[80, 30_080]]);
    const [group] = one.groups.values();
    const pods = ['172.17.0.8', '172.17.0.9'].map((ServerIp) => ({ ServerId: 'eni-bp1a', Type: 'eni', ServerIp }));
    group!.servers = pods.map((pod) => ({ ...pod, Port: 8080, Weight: 100, Description: group!.name }));
    await harness.adopt({ addresses });
    await harness.settle();
    const left = group!.servers.map((server) => [server['Type'], server['Port']]);
    assert.deepEqual(left, [
      ['ecs', 30_080],
      ['ecs', 30_080],
    ]);
    const actions = harness.changes().filter((action) => action.endsWith('BackendServers'));
    assert.deepEqual(actions, ['AddVServerGroupBackendServers', 'RemoveVServerGroupBackendServers']);
    await harness.world.close();
  });

  it('leaves alone a load balancer of another address or tag, and one that people made', async () => {
    for (const [isReused, shown] of [
      [false, ['121.40.7.8']],
      [true, addresses],
    ] as const) {
      const harness = await createBalancerHarness();
      makeAsClassic(harness, [[80, 30_080]], { isReused });
      const { seen } = await harness.adopt({ addresses: shown });
      assert.equal(seen?.adopted ?? false, false);
      await harness.world.close();
    }
    const harness = await createBalancerHarness();
    const one = makeAsClassic(harness, [[80, 30_080]]);
    one.tags.set('kubernetes.do.not.delete', 'a00000000000000000000000000000000');
    assert.equal((await harness.adopt({ addresses })).seen, undefined);
    await harness.world.close();
  });

  it('writes the tag, name, descriptions and group names by which the classic controller finds it', async () => {
    const harness = await createBalancerHarness();
    await harness.settle({ ports: [port(80, 30_080)] });
    const one = harness.balancer();
    const name = harness.desired().name;
    assert.equal(one.wire['LoadBalancerName'], name);
    assert.equal(one.tags.get('kubernetes.do.not.delete'), name);
    assert.equal(one.tags.get('ack.aliyun.com'), 'clusterid');
    const [group] = one.groups.values();
    assert.equal(group?.name, 'k8s/30080/web/shop/clusterid');
    assert.ok(group.servers.every((server) => server['Description'] === group.name && server['Weight'] === 100));
    const [listener] = one.listeners.values();
    assert.equal(listener?.wire['Description'], 'k8s/80/web/shop/clusterid');
    await harness.world.close();
  });

  it('goes with its Service, although the classic controller has protected it', async () => {
    const harness = await createBalancerHarness();
    makeAsClassic(harness, [[80, 30_080]]);
    await harness.adopt({ addresses }, { ports: [port(80, 31_080)] });
    await harness.settle({ ports: [port(80, 31_080)] });
    harness.changes();
    await harness.remove();
    assert.deepEqual(harness.changes(), ['SetLoadBalancerDeleteProtection', 'DeleteLoadBalancer']);
    assert.equal(harness.world.fake.balancers.size, 0);
    await harness.world.close();
  });
});
