import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { annotations, conditions, labels, taints } from '../../common/well-known.ts';
import { fleet } from './harness/fleet.ts';
import { createWorld, providerID, type Replica, reportedOf, type World } from './harness/world.ts';

/** Of the one machine that such a test is about, as its cloud and its kubelet tell it. */
const systemUuid = '3e1b8d60-7c53-4a8e-8a5c-0f6c0e1f9d21';

/**
 * The cases of upstream's tests (k8s.io/cloud-provider: controllers/node and controllers/nodelifecycle) with the code
 * that ships. Where Mooring behaves differently, the case says what upstream does and why Mooring does not.
 */
let world: World;
let replica: Replica;

async function setUp(): Promise<void> {
  world = createWorld();
  replica = world.replica();
  await replica.start();
}
const tainted = (name: string) => world.cluster.hasTaint(name, taints.uninitialized);
const reason = (name: string) => world.cluster.condition(name, conditions.cloudInitialized)?.reason;
const addresses = (name: string) =>
  (world.cluster.mustNode(name).status.addresses ?? []).map(({ type, address }) => `${type} ${address}`);

describe('upstream’s cases of syncNode', () => {
  afterEach(() => world.close());

  it('keeps the hostname of the cloud', async () => {
    await setUp();
    world.cloud.model.create({ name: 'a', hostname: 'from-cloud', smbiosUuid: systemUuid });
    world.cluster.register('a', { systemUuid, addresses: [{ type: 'Hostname', address: 'from-kubelet' }] });
    await world.clock.advance(1000);
    assert.ok(addresses('a').includes('Hostname from-cloud'));
    assert.ok(!addresses('a').includes('Hostname from-kubelet'));
  });

  it('ignores a Node without taint and providerID, and keeps one with a providerID of its cloud current', async () => {
    await setUp();
    world.cloud.model.create({ name: 'a' });
    world.cluster.register('a', { tainted: false });
    await world.clock.advance(400_000);
    assert.deepEqual(replica.kube.writes(), []);
  });

  it('recognises the taint by its key alone: another effect, another value', async () => {
    await setUp();
    world.cloud.model.create({ name: 'a', smbiosUuid: systemUuid });
    world.cluster.register('a', {
      systemUuid,
      tainted: false,
      taints: [{ key: taints.uninitialized, effect: 'PreferNoSchedule', value: 'x' }],
    });
    await world.clock.advance(1000);
    assert.equal(tainted('a'), false);
  });

  it('writes four labels of zone and region, two of the type, and the providerID', async () => {
    await setUp();
    const vm = world.join('a');
    await world.clock.advance(1000);
    const { metadata, spec } = world.cluster.mustNode('a');
    assert.deepEqual(
      [
        labels.zone,
        labels.zoneBeta,
        labels.region,
        labels.regionBeta,
        labels.instanceType,
        labels.instanceTypeBeta,
      ].map((key) => metadata.labels?.[key]),
      [vm.zone, vm.zone, vm.region, vm.region, vm.type, vm.type],
    );
    assert.equal(spec.providerID, providerID(vm));
  });

  it('keeps the taint without metadata, says InstanceNotFound and tries again (upstream: silently, once)', async () => {
    await setUp();
    world.cluster.register('a');
    await world.clock.advance(5000);
    assert.equal(tainted('a'), true);
    assert.equal(reason('a'), 'InstanceNotFound');
  });

  it('keeps the taint after a metadata error', async () => {
    await setUp();
    world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 500 } });
    world.join('a');
    await world.clock.advance(60_000);
    assert.equal(tainted('a'), true);
    assert.equal(reason('a'), 'AwaitingCloud');
  });

  it('honours a provided IP and puts it first', async () => {
    await setUp();
    const interfaces = [{ internal: ['10.0.0.1', '10.0.0.2'], external: ['198.51.100.1'] }];
    world.cloud.model.create({ name: 'a', interfaces, smbiosUuid: systemUuid });
    world.cluster.register('a', { systemUuid, annotations: { [annotations.providedNodeIP]: '10.0.0.2' } });
    await world.clock.advance(1000);
    assert.equal(addresses('a')[0], 'InternalIP 10.0.0.2');
    assert.ok(!addresses('a').includes('InternalIP 10.0.0.1'));
  });

  for (const [what, ip, why] of [
    ['invalid', 'not-an-ip', 'InvalidNodeIP'],
    ['not among the instance’s', '192.0.2.1', 'IdentityConflict'],
  ] as const) {
    it(`keeps the taint when the provided IP is ${what}`, async () => {
      await setUp();
      world.cloud.model.create({ name: 'a', smbiosUuid: systemUuid });
      world.cluster.register('a', { systemUuid, annotations: { [annotations.providedNodeIP]: ip } });
      await world.clock.advance(5000);
      assert.equal(tainted('a'), true);
      assert.equal(reason('a'), why);
      assert.deepEqual(addresses('a'), []);
    });
  }

  it('keeps an existing providerID and looks up that very one (upstream goes on with another)', async () => {
    await setUp();
    const [own, namesake] = [world.cloud.model.create({ name: 'vm-1' }), world.cloud.model.create({ name: 'a' })];
    world.cluster.register('a', { providerID: providerID(own), systemUuid: own.smbiosUuid ?? '' });
    await world.clock.advance(1000);
    assert.equal(world.cluster.mustNode('a').spec.providerID, providerID(own));
    assert.ok(addresses('a').includes(`InternalIP ${own.interfaces[0]?.internal[0]}`));
    assert.notEqual(own.id, namesake.id);
  });

  it('always preserves other taints', async () => {
    await setUp();
    world.cloud.model.create({ name: 'a', smbiosUuid: systemUuid });
    const others = [
      { key: 'a.b/c', effect: 'NoExecute', value: 'v' },
      { key: 'a.b/c', effect: 'NoSchedule', value: 'v' },
    ];
    world.cluster.register('a', { systemUuid, taints: others });
    await world.clock.advance(1000);
    const left = world.cluster.mustNode('a').spec.taints ?? [];
    for (const taint of others) assert.ok(left.some(({ key, effect }) => key === taint.key && effect === taint.effect));
  });

  it('keeps the addresses of a tainted Node while it waits', async () => {
    await setUp();
    world.cloud.credentials.setMode(world.cloud.credential, 'forbidden');
    const vm = world.cloud.model.create({ name: 'a' });
    world.cluster.register('a', { providerID: providerID(vm) });
    await world.clock.advance(400_000);
    assert.deepEqual(addresses('a'), []);
  });

  it('serves 100 Nodes with a few calls (upstream: exactly 100 calls whatever the workers)', async () => {
    await setUp();
    for (let index = 0; index < 100; index += 1) world.join(`n${index}`);
    await world.clock.advance(2000);
    assert.equal(world.cluster.names().filter(tainted).length, 0);
    assert.ok(world.cloudCalls() <= 4, `${world.cloudCalls()} calls`);
  });
});

describe('upstream’s cases of the node lifecycle', () => {
  afterEach(() => world.close());

  type Vm = 'exists' | 'terminated' | 'unknown to the cloud' | 'an error' | 'shut down';
  const cases: readonly ['NotReady' | 'Unknown' | 'Ready', Vm, 'deleted' | 'kept' | 'tainted'][] = [
    ['NotReady', 'terminated', 'deleted'],
    ['NotReady', 'unknown to the cloud', 'deleted'],
    ['NotReady', 'exists', 'kept'],
    ['NotReady', 'an error', 'kept'],
    ['NotReady', 'shut down', 'tainted'],
    ['Unknown', 'terminated', 'deleted'],
    ['Unknown', 'unknown to the cloud', 'deleted'],
    ['Unknown', 'exists', 'kept'],
    ['Unknown', 'an error', 'kept'],
    ['Unknown', 'shut down', 'tainted'],
    ['Ready', 'unknown to the cloud', 'kept'],
    // Upstream keeps it too, since it never asks. Mooring learns it from the refresh: a terminal state outweighs a late
    // condition.
    ['Ready', 'terminated', 'deleted'],
    ['Ready', 'shut down', 'kept'],
    ['Ready', 'exists', 'kept'],
  ];

  for (const [ready, vm, expected] of cases) {
    it(`a ${ready} Node is ${expected} when the lookup of its VM gives: ${vm}`, async () => {
      await setUp();
      const [member] = await fleet(world, 3);
      member!.kubelet.die();
      if (ready !== 'Ready') world.cluster.setReady('n0', ready === 'NotReady' ? 'False' : 'Unknown');
      else {
        const stay = () => {
          if (world.cluster.node('n0')) world.cluster.setReady('n0', 'True');
        };
        for (let second = 51; second < 500; second += 1) world.clock.setTimer(second * 1000, stay);
      }
      const { id } = member!.vm;
      if (vm === 'terminated') world.cloud.model.terminate(id);
      if (vm === 'unknown to the cloud') world.cloud.model.forget(id);
      if (vm === 'shut down') world.cloud.model.stop(id);
      if (vm === 'an error') world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 500 } });
      await world.clock.advance(480_000);
      const outcome = !world.cluster.node('n0')
        ? 'deleted'
        : world.cluster.hasTaint('n0', taints.shutdown)
          ? 'tainted'
          : 'kept';
      assert.equal(outcome, expected);
      assert.deepEqual(world.cluster.names().slice(-2), ['n1', 'n2'], 'the others stay');
    });
  }

  it('never deletes or taints a Node without providerID by its name (upstream does both)', async () => {
    await setUp();
    const vm = world.cloud.model.create({ name: 'a' });
    world.cluster.register('a', { tainted: false, ready: 'Unknown' });
    world.cloud.model.stop(vm.id);
    await world.clock.advance(400_000);
    world.cloud.model.terminate(vm.id);
    await world.clock.advance(400_000);
    assert.deepEqual(replica.kube.writes(), []);
  });

  it('keeps a Node that just joined and that the cloud does not show yet (upstream deletes it)', async () => {
    await setUp();
    await fleet(world, 2);
    world.cluster.register('young', { providerID: 'simulated://sim-1/i-young', ready: 'False' });
    await world.clock.advance(900_000);
    assert.notEqual(world.cluster.node('young'), undefined);
    const vm = world.cloud.model.create({ id: 'i-young', name: 'young', smbiosUuid: null });
    await world.clock.advance(75_000);
    assert.equal(tainted('young'), false);
    assert.ok(addresses('young').includes(`InternalIP ${reportedOf(vm).addresses[0]?.address}`));
  });

  it('deletes a Node whose VM was shut down and is then gone', async () => {
    await setUp();
    const [member] = await fleet(world, 3);
    member!.kubelet.die();
    world.cloud.model.stop(member!.vm.id);
    await world.clock.advance(120_000);
    assert.equal(world.cluster.hasTaint('n0', taints.shutdown), true);
    world.cloud.model.forget(member!.vm.id);
    await world.clock.advance(240_000);
    assert.equal(world.cluster.node('n0'), undefined);
  });
});
