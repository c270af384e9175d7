import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { annotations, conditions, taints } from '../../common/well-known.ts';
import { providerID, type Replica, reportedOf, type World, type WorldOptions } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

/** Of the one machine that such a test is about, as its cloud and its kubelet tell it. */
const systemUuid = '3e1b8d60-7c53-4a8e-8a5c-0f6c0e1f9d21';

describe('the condition of a Node that waits for initialisation', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;

  async function setUp(options: WorldOptions = {}): Promise<void> {
    ({ world, replica } = begin(options));
    await replica.start();
  }
  beforeEach(() => setUp());

  const reason = (name: string) => world.cluster.condition(name, conditions.cloudInitialized)?.reason;
  const changes = (name: string) =>
    replica.events.filter((event) => event.node === name && event.reason === 'CloudInitializedChanged');
  const waits = (why: string) => replica.gauge('mooring_nodes_uninitialized', `{reason="${why}"}`);

  async function waitsFor(name: string, why: string): Promise<void> {
    await world.clock.advance(20_000);
    assert.equal(world.cluster.hasTaint(name, taints.uninitialized), true);
    assert.equal(reason(name), why);
    assert.equal(world.cluster.condition(name, conditions.cloudInitialized)?.status, 'False');
    assert.equal(await waits(why), 1);
    assert.equal(changes(name).length, 1);
    assert.match(changes(name)[0]?.message ?? '', new RegExp(`^${why}: `));
    assert.deepEqual(
      replica.task.status(name)?.reasons.map(({ code }) => code),
      [why],
    );
    // Heartbeats and time change nothing about it: one condition, one event.
    for (let beat = 0; beat < 12; beat += 1) {
      world.cluster.heartbeat(name);
      await world.clock.advance(10_000);
    }
    assert.equal(changes(name).length, 1);
    assert.equal(reason(name), why);
  }

  async function goesOn(name: string, why: string): Promise<void> {
    await world.clock.advance(75_000);
    assert.equal(world.cluster.hasTaint(name, taints.uninitialized), false);
    assert.equal(reason(name), 'Initialized');
    assert.equal(await waits(why), 0);
    assert.deepEqual(replica.task.status(name), { initialized: true, reasons: [] });
  }

  it('says InstanceNotFound while no VM has the name of the Node, and ends when one has', async () => {
    world.cluster.register('a', { systemUuid });
    await waitsFor('a', 'InstanceNotFound');
    world.cloud.model.create({ name: 'a', smbiosUuid: systemUuid });
    await goesOn('a', 'InstanceNotFound');
  });

  it('says InstanceNotFound for a VM that is terminated', async () => {
    const vm = world.cloud.model.create({ name: 'a' });
    world.cloud.model.terminate(vm.id);
    world.cluster.register('a', { providerID: providerID(vm) });
    await waitsFor('a', 'InstanceNotFound');
  });

  it('says AmbiguousInstance while two VMs have the name of the Node', async () => {
    world.cloud.model.create({ name: 'a', smbiosUuid: systemUuid });
    const other = world.cloud.model.create({ name: 'a' });
    world.cluster.register('a', { systemUuid });
    await waitsFor('a', 'AmbiguousInstance');
    world.cloud.model.rename(other.id, 'b');
    await goesOn('a', 'AmbiguousInstance');
  });

  it('says AwaitingCloud while the cloud refuses the credential, and ends afterwards', async () => {
    world.cloud.credentials.setMode(world.cloud.credential, 'unauthorized');
    world.join('a');
    await waitsFor('a', 'AwaitingCloud');
    assert.match(world.cluster.condition('a', conditions.cloudInitialized)?.message ?? '', /Unauthorized/);
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    await goesOn('a', 'AwaitingCloud');
  });

  it('asks a throttling cloud no more often than it wants', async () => {
    world.cloud.faults.add({ operation: '*', effect: { kind: 'throttle', retryAfterSeconds: 40 } });
    world.join('a');
    await world.clock.advance(39_000);
    assert.ok(world.cloudCalls() <= 1, `${world.cloudCalls()} calls`);
  });

  it('says AwaitingReport where the cloud has no API here, and ends with the report', async () => {
    await setUp({ clouds: [{ reportOnly: 'simulated' }] });
    const vm = world.join('a');
    await waitsFor('a', 'AwaitingReport');
    replica.report('a', { instance: reportedOf(vm) });
    await world.clock.advance(1000);
    assert.equal(world.cluster.hasTaint('a', taints.uninitialized), false);
    assert.equal(world.cluster.mustNode('a').spec.providerID, providerID(vm));
  });

  it('says InvalidNodeIP while the annotation does not parse, and ends at once when it does', async () => {
    const vm = world.cloud.model.create({ name: 'a', smbiosUuid: systemUuid });
    const ip = vm.interfaces[0]!.internal[0]!;
    world.cluster.register('a', { systemUuid, annotations: { [annotations.providedNodeIP]: `${ip}, ${ip}` } });
    await waitsFor('a', 'InvalidNodeIP');
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.providedNodeIP]: ip } } });
    await world.clock.advance(1000);
    assert.equal(world.cluster.hasTaint('a', taints.uninitialized), false);
  });

  it('says IdentityConflict for a node IP that the instance does not have', async () => {
    world.cloud.model.create({ name: 'a', smbiosUuid: systemUuid });
    world.cluster.register('a', { systemUuid, annotations: { [annotations.providedNodeIP]: '192.0.2.77' } });
    await waitsFor('a', 'IdentityConflict');
  });

  it('changes with the reason, with one event each, and the gauge follows', async () => {
    world.cloud.credentials.setMode(world.cloud.credential, 'unauthorized');
    world.cluster.register('a');
    await world.clock.advance(20_000);
    world.cloud.credentials.setMode(world.cloud.credential, 'ok');
    await world.clock.advance(75_000);
    assert.equal(reason('a'), 'InstanceNotFound');
    assert.equal(changes('a').length, 2);
    assert.equal(await waits('AwaitingCloud'), 0);
    assert.equal(await waits('InstanceNotFound'), 1);
    world.cluster.remove('a');
    await world.clock.advance(1000);
    assert.equal(await waits('InstanceNotFound'), 0);
  });

  it('costs hundreds of waiting Nodes a few calls a minute, with a back-off that heartbeats keep', async () => {
    for (let index = 0; index < 200; index += 1) world.cluster.register(`stuck-${index}`);
    await world.clock.advance(240_000);
    const calls = world.cloudCalls();
    for (let second = 0; second < 300; second += 1) {
      world.cluster.heartbeat(`stuck-${second % 200}`);
      await world.clock.advance(1000);
    }
    const made = world.cloudCalls() - calls;
    assert.ok(made <= 25, `${made} calls in five minutes`);
  });

  it('tells the reason by the metric and one event while the condition cannot be written', async () => {
    const allow = world.core.faults.add({
      match: { verb: 'patch', resource: 'nodes/status', userAgent: 'mooring' },
      effect: { kind: 'answer', status: 403 },
    });
    world.cluster.register('a');
    await world.clock.advance(120_000);
    assert.equal(await waits('InstanceNotFound'), 1);
    assert.equal(changes('a').length, 1);
    allow();
    await world.clock.advance(75_000);
    assert.equal(reason('a'), 'InstanceNotFound');
  });

  it('writes the condition once: a new leader repeats neither it nor its event', async () => {
    world.cluster.register('a');
    await world.clock.advance(20_000);
    await replica.stop();
    const next = world.replica();
    await next.start();
    await world.clock.advance(60_000);
    assert.deepEqual(next.kube.writes(), []);
    assert.deepEqual(next.events, []);
    assert.equal(await next.gauge('mooring_nodes_uninitialized', '{reason="InstanceNotFound"}'), 1);
  });
});
