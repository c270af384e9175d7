import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { annotations, taints } from '../../common/well-known.ts';
import { fleet } from './harness/fleet.ts';
import { type Replica, reportedOf, type World } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

/** Of the one machine that such a test is about, as its cloud and its kubelet tell it. */
const systemUuid = '3e1b8d60-7c53-4a8e-8a5c-0f6c0e1f9d21';

const minutes = (count: number) => count * 60_000;

describe('the addresses of a Node', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    ({ world, replica } = begin());
    await replica.start();
  });

  const shown = (name: string) => world.cluster.mustNode(name).status.addresses ?? [];
  const ips = (name: string) => shown(name).flatMap(({ type, address }) => (type.endsWith('IP') ? [address] : []));

  it('writes all addresses once: two of one type, dual stack, several interfaces', async () => {
    const vm = world.join('a', { dualStack: true, interfaceCount: 2, external: true });
    await world.clock.advance(1000);
    const expected = vm.interfaces.flatMap(({ internal, external }) => [...internal, ...external]);
    assert.deepEqual(ips('a').sort(), [...expected].sort());
    replica.kube.forgetCalls();
    await world.clock.advance(minutes(30));
    assert.deepEqual(replica.kube.writes(), []);
  });

  it('keeps the kubelet’s Hostname only where the cloud has none', async () => {
    const vm = world.cloud.model.create({ name: 'a', hostname: 'cloud-name' });
    world.cluster.register('a', {
      systemUuid: vm.smbiosUuid ?? '',
      addresses: [{ type: 'Hostname', address: 'kubelet-name' }],
    });
    await world.clock.advance(1000);
    assert.deepEqual(
      shown('a').filter(({ type }) => type === 'Hostname'),
      [{ type: 'Hostname', address: 'cloud-name' }],
    );
  });

  it('puts the addresses of provided-node-ip first, in its order, and drops others of their type', async () => {
    const interfaces = [{ internal: ['10.0.0.5', '10.0.0.6', 'fd00::5'], external: ['198.51.100.7'] }];
    world.cloud.model.create({ name: 'a', interfaces, smbiosUuid: systemUuid });
    world.cluster.register('a', {
      systemUuid,
      annotations: { [annotations.providedNodeIP]: 'fd00:0:0::0005,10.0.0.6' },
    });
    await world.clock.advance(1000);
    assert.equal(world.cluster.hasTaint('a', taints.uninitialized), false);
    assert.deepEqual(
      shown('a')
        .filter(({ type }) => type === 'InternalIP')
        .map(({ address }) => address),
      ['fd00::5', '10.0.0.6'],
    );
    assert.ok(ips('a').includes('198.51.100.7'));
  });

  it('never removes an address through a refused, throttled, silent, cut, malformed or partial answer', async () => {
    const [member] = await fleet(world, 1);
    const before = shown('n0');
    const { faults } = world.cloud;
    for (const effect of [
      { kind: 'error', status: 401 },
      { kind: 'error', status: 403 },
      { kind: 'error', status: 500 },
      { kind: 'throttle' },
      { kind: 'silence' },
      { kind: 'cut-body' },
      { kind: 'malformed' },
      { kind: 'wrong-shape' },
      { kind: 'missing-items' },
      { kind: 'missing-fields', fields: ['interfaces'] },
      { kind: 'missing-fields', fields: ['hostname', 'internalDns'] },
    ] as const) {
      faults.clear();
      faults.add({ operation: '*', effect });
      replica.report('n0', { bootId: JSON.stringify(effect) });
      await world.clock.advance(minutes(11));
      assert.deepEqual(shown('n0'), before, JSON.stringify(effect));
    }
    assert.ok(member);
  });

  it('removes an address only after two successful reads without it', async () => {
    const vm = world.join('a', { interfaceCount: 2 });
    await world.clock.advance(1000);
    const [first, second] = [vm.interfaces[0]!, vm.interfaces[1]!];
    world.cloud.model.setAddresses(vm.id, { interfaces: [first] });
    await world.clock.advance(minutes(5) - 900);
    assert.ok(ips('a').includes(second.internal[0]!), 'one read');
    await world.clock.advance(15_000);
    assert.equal(ips('a').includes(second.internal[0]!), false, 'two reads');
    assert.ok(ips('a').includes(first.internal[0]!));
  });

  it('removes no address when the second read fails, until a successful one decides', async () => {
    const vm = world.join('a', { interfaceCount: 2 });
    await world.clock.advance(1000);
    const second = vm.interfaces[1]!.internal[0]!;
    world.cloud.model.setAddresses(vm.id, { interfaces: [vm.interfaces[0]!] });
    await world.clock.advance(minutes(5) - 900);
    world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 500 } });
    await world.clock.advance(minutes(12));
    assert.ok(ips('a').includes(second));
    world.cloud.faults.clear();
    await world.clock.advance(minutes(3));
    assert.equal(ips('a').includes(second), false);
  });

  it('keeps an address that a stale answer left out and the next one shows', async () => {
    const vm = world.join('a', { interfaceCount: 2 });
    await world.clock.advance(1000);
    const before = [...ips('a')].sort();
    world.cloud.model.setAddresses(vm.id, { interfaces: [vm.interfaces[0]!] });
    await world.clock.advance(minutes(5) - 900);
    world.cloud.model.setAddresses(vm.id, { interfaces: vm.interfaces });
    await world.clock.advance(minutes(10));
    assert.deepEqual([...ips('a')].sort(), before);
  });

  it('keeps an address that two stale answers left out, with one between them that shows it', async () => {
    const vm = world.join('a', { interfaceCount: 2 });
    await world.clock.advance(1000);
    const second = vm.interfaces[1]!.internal[0]!;
    await world.clock.advance(minutes(5) - 2000);
    for (const round of [1, 2]) {
      world.cloud.model.setAddresses(vm.id, { interfaces: [vm.interfaces[0]!] });
      await world.clock.advance(1100);
      assert.ok(ips('a').includes(second), `stale answer ${round}`);
      world.cloud.model.setAddresses(vm.id, { interfaces: vm.interfaces });
      await world.clock.advance(minutes(5) - 1100);
    }
  });

  it('removes an address at once when the Node’s own agent reports the change too', async () => {
    const [member] = await fleet(world, 1);
    const { vm } = member!;
    replica.report('n0', { instance: reportedOf(vm) });
    await world.clock.advance(1000);
    const changed = world.cloud.model.setAddresses(vm.id, { interfaces: [{ internal: ['10.9.9.9'] }] });
    replica.report('n0', { instance: reportedOf(changed) });
    await world.clock.advance(1000);
    assert.deepEqual(ips('n0'), ['10.9.9.9']);
  });

  it('restores addresses that another writer changed', async () => {
    await fleet(world, 1);
    const before = shown('n0');
    world.cluster.setAddresses('n0', []);
    assert.deepEqual(shown('n0'), []);
    const calls = world.cloudCalls();
    await world.clock.advance(1000);
    assert.deepEqual(shown('n0'), before);
    assert.equal(world.cloudCalls(), calls, 'what is known is enough');
  });
});
