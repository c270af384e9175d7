import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { a4, b4, c4, routeStage } from './harness/route-stage.ts';
import { untagged } from './harness/route-world.ts';

describe('routes to pod ranges that a kubelet chose', () => {
  const begin = routeStage();
  const claimed = [
    '0.0.0.0/1',
    '169.254.169.254/32',
    '10.0.0.0/24',
    '10.244.128.0/24',
    '10.244.0.5/32',
    '10.244.0.0/16',
  ];

  it('creates no route to a range outside the bounds, and those of honest Nodes in any order', async () => {
    const { world, replica } = begin({ serviceCidr: '10.244.128.0/20', masks: { 4: 24 } });
    for (const [at, range] of claimed.entries()) world.add(`rogue-${at}`, [range]);
    await world.clock.advance(1000);
    world.add('a', [a4]);
    world.add('b', [b4]);
    await replica.start();
    await world.clock.advance(10_000);
    world.add('c', [c4]);
    await world.clock.advance(600_000);
    assert.deepEqual(world.table(), [`${a4} -> a`, `${b4} -> b`, `${c4} -> c`]);
    for (const name of ['a', 'b', 'c']) assert.equal(world.network(name), 'False RouteCreated', name);
    for (const at of claimed.keys()) assert.equal(world.network(`rogue-${at}`), 'True CIDRNotAllowed', `rogue-${at}`);
    assert.equal(
      await replica.metric('mooring_routes_blocked', `{scope="${world.scope}",reason="CIDRNotAllowed"}`),
      claimed.length,
    );
    const told = replica.base.events.filter(({ message }) => message.includes('CIDRNotAllowed'));
    assert.deepEqual(
      told.map(({ node, reason }) => `${node} ${reason}`).sort(),
      [...claimed.keys()].map((at) => `rogue-${at} FailedToCreateRoute`),
    );
  });

  it('leads a route to the Node that was assigned the range, not to an older one that takes it later', async () => {
    const { world, replica } = begin();
    world.add('old', []);
    await world.clock.advance(60_000);
    await replica.start();
    await world.clock.advance(1000);
    world.add('joined', [a4]);
    world.setPodCIDRs('old', [a4]);
    await world.clock.advance(10_000);
    assert.deepEqual(world.table(), [`${a4} -> joined`]);
    assert.equal(world.network('joined'), 'False RouteCreated');
    assert.equal(world.network('old'), 'True DuplicatePodCIDR');
  });

  for (const tags of [true, false])
    it(`keeps a route of an older version ${tags ? 'with' : 'without'} tags while its Node lives`, async () => {
      const like = tags ? {} : { like: untagged };
      const { world, replica: older } = begin({ clusterCidr: '10.9.0.0/16', ...like });
      const rogue = world.add('rogue', ['10.9.0.0/22']);
      await older.start();
      await world.clock.advance(10_000);
      assert.deepEqual(world.table(), ['10.9.0.0/22 -> rogue']);
      await older.stop();
      const next = world.routeReplica({ clusterCidr: '10.244.0.0/16' });
      world.add('a', [a4]);
      await next.start();
      await world.clock.advance(900_000);
      assert.deepEqual(world.table(), [`${a4} -> a`, '10.9.0.0/22 -> rogue']);
      assert.equal(world.network('rogue'), 'False CIDRNotAllowed');
      const told = next.base.events.filter(({ node }) => node === 'rogue').map(({ reason }) => reason);
      assert.deepEqual(told, ['CIDRNotAllowed']);
      world.cloud.model.terminate(rogue.id);
      world.cluster.remove('rogue');
      await world.clock.advance(60_000);
      assert.deepEqual(world.table(), [`${a4} -> a`]);
    });
});

describe('pod ranges over the addresses of VMs', () => {
  const begin = routeStage();
  const internalOf = (vm: { readonly interfaces: readonly { readonly internal: readonly string[] }[] }) =>
    vm.interfaces[0]?.internal[0] ?? '';

  it('creates no route to a range in which a VM of the cloud has its address', async () => {
    const { world, replica } = begin({ clusterCidr: '10.0.0.0/8' });
    const vm = world.add('a', ['10.244.0.0/24']);
    const around = internalOf(vm).replace(/\d+$/, '0/24');
    await replica.start();
    await world.clock.advance(1000);
    world.add('rogue', [around]);
    await world.clock.advance(60_000);
    assert.deepEqual(world.table(), ['10.244.0.0/24 -> a']);
    assert.equal(world.network('rogue'), 'True CIDRNotAllowed');
  });

  it('creates a route although another Node shows an address in the range that its VM does not have', async () => {
    const { world, replica } = begin({ clusterCidr: '10.0.0.0/8' });
    world.add('rogue', ['10.244.0.0/24']);
    await replica.start();
    await world.clock.advance(1000);
    world.cluster.setAddresses('rogue', [{ type: 'InternalIP', address: '10.244.7.9' }]);
    world.add('a', ['10.244.7.0/24']);
    await world.clock.advance(5000);
    assert.equal(world.network('a'), 'False RouteCreated');
  });

  it('creates a route although a Node whose instance the cloud does not show has an address in the range', async () => {
    const { world, replica } = begin({ clusterCidr: '10.0.0.0/8' });
    world.add('rogue', ['10.244.0.0/24']);
    world.cloud.faults.add({ operation: 'instances.*', effect: { kind: 'error', status: 500 } });
    await replica.start();
    await world.clock.advance(1000);
    world.cluster.setAddresses('rogue', [{ type: 'InternalIP', address: '10.244.7.9' }]);
    world.add('a', ['10.244.7.0/24']);
    await world.clock.advance(60_000);
    assert.equal(world.network('a'), 'False RouteCreated');
  });
});
