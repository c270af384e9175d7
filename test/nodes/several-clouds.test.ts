import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, conditions, taints } from '../../common/well-known.ts';
import { fleet } from './harness/fleet.ts';
import { providerID, type Replica, reportedOf, type World, type WorldOptions } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

/** Of the one machine that such a test is about, as its cloud and its kubelet tell it. */
const systemUuid = '3e1b8d60-7c53-4a8e-8a5c-0f6c0e1f9d21';

describe('several clouds in one cluster', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;

  async function setUp(options: WorldOptions = {}): Promise<void> {
    ({ world, replica } = begin({ clouds: [{ region: 'sim-1' }, { region: 'sim-2' }], ...options }));
    await replica.start();
  }

  const tainted = (name: string) => world.cluster.hasTaint(name, taints.uninitialized);
  const written = () => replica.kube.writes();

  it('assigns a Node without providerID to the cloud in which exactly one VM has its name', async () => {
    await setUp();
    const here = world.join('a', { region: 'sim-1' });
    const there = world.join('b', { region: 'sim-2' });
    await world.clock.advance(5000);
    assert.equal(world.cluster.mustNode('a').spec.providerID, providerID(here));
    assert.equal(world.cluster.mustNode('b').spec.providerID, providerID(there));
    assert.match(world.cluster.mustNode('b').metadata.annotations?.[annotations.instance] ?? '', /\/sim-2 /);
  });

  it('leaves a Node foreign that no cloud claims: no write, and a metric', async () => {
    await setUp();
    world.cluster.register('a');
    await world.clock.advance(600_000);
    assert.deepEqual(written(), []);
    assert.equal(await replica.gauge('mooring_nodes_uninitialized', '{reason="InstanceNotFound"}'), 1);
    assert.equal(replica.events.length, 1);
  });

  it('replaces the condition of an earlier leader on a Node that was claimed once', async () => {
    await setUp();
    const { faults, model } = world.cloud;
    const vm = model.create({ name: 'a', region: 'sim-1' });
    world.cluster.register('a', { systemUuid: vm.smbiosUuid ?? '' });
    faults.add({ operation: '*', effect: { kind: 'error', status: 503 } });
    replica.report('a', { instance: reportedOf(vm) });
    await world.clock.advance(10_000);
    const reason = () => world.cluster.condition('a', conditions.cloudInitialized)?.reason;
    assert.equal(reason(), 'AwaitingCloud');
    await replica.stop();
    faults.clear();
    model.forget(vm.id);
    await world.replica().start();
    await world.clock.advance(120_000);
    assert.equal(reason(), 'InstanceNotFound');
  });

  it('leaves a Node alone that two clouds claim', async () => {
    await setUp();
    world.cloud.model.create({ name: 'a', region: 'sim-1' });
    world.cloud.model.create({ name: 'a', region: 'sim-2' });
    world.cluster.register('a');
    await world.clock.advance(120_000);
    assert.deepEqual(written(), []);
    assert.equal(tainted('a'), true);
    assert.equal(await replica.gauge('mooring_nodes_uninitialized', '{reason="AmbiguousInstance"}'), 1);
  });

  it('waits with the claim of one cloud while the other does not answer', async () => {
    const geography = { p: { 'sim-1': ['x'] }, q: { 'sim-2': ['y'] } };
    const clouds = [
      { project: 'p', region: 'sim-1' },
      { project: 'q', region: 'sim-2' },
    ];
    await setUp({ geography, clouds });
    world.cloud.faults.add({ operation: '*', project: 'q', effect: { kind: 'error', status: 503 } });
    world.cloud.model.create({ name: 'a', project: 'p', region: 'sim-1', smbiosUuid: systemUuid });
    world.cluster.register('a', { systemUuid });
    await world.clock.advance(60_000);
    assert.equal(tainted('a'), true);
    assert.deepEqual(written(), []);
    world.cloud.faults.clear();
    await world.clock.advance(75_000);
    assert.equal(tainted('a'), false);
  });

  it('takes the cloud from a report where names do not tell it', async () => {
    await setUp();
    const here = world.cloud.model.create({ name: 'a', region: 'sim-1' });
    const there = world.cloud.model.create({ name: 'a', region: 'sim-2' });
    world.cluster.register('a', { systemUuid: there.smbiosUuid ?? '' });
    replica.report('a', { instance: reportedOf(there) });
    await world.clock.advance(5000);
    assert.equal(world.cluster.mustNode('a').spec.providerID, providerID(there));
    assert.notEqual(here.id, there.id);
  });

  it('serves Nodes by selectors, and leaves a Node foreign that no selector matches', async () => {
    await setUp({
      clouds: [
        { region: 'sim-1', selector: 'site=one' },
        { region: 'sim-2', selector: 'site in (two)' },
      ],
    });
    for (const region of ['sim-1', 'sim-2']) world.cloud.model.create({ name: 'a', region, smbiosUuid: systemUuid });
    world.cloud.model.create({ name: 'b', region: 'sim-1', smbiosUuid: systemUuid });
    world.cluster.register('a', { systemUuid, labels: { site: 'two' } });
    world.cluster.register('b', { systemUuid });
    await world.clock.advance(5000);
    assert.match(world.cluster.mustNode('a').spec.providerID ?? '', /^simulated:\/\/sim-2\//);
    assert.equal(tainted('b'), true);
    assert.equal(written().filter((write) => write.includes('/b')).length, 0);
  });

  it('gives a Node that a selector names its condition before its VM is found', async () => {
    await setUp({
      clouds: [
        { region: 'sim-1', selector: 'site=one' },
        { region: 'sim-2', selector: 'site=two' },
      ],
    });
    world.cluster.register('a', { labels: { site: 'one' } });
    await world.clock.advance(5000);
    assert.equal(world.cluster.condition('a', conditions.cloudInitialized)?.reason, 'InstanceNotFound');
  });

  it('leaves foreign Nodes alone, tainted or not, Ready or not, dead or alive', async () => {
    await setUp({ task: { outOfServiceTaint: true } });
    const shutdown = { key: taints.shutdown, effect: 'NoSchedule' };
    world.cluster.register('bare-metal', { tainted: false });
    world.cluster.register('bare-metal-dead', { tainted: false, ready: 'Unknown', taints: [shutdown] });
    world.cluster.register('kind', { tainted: false, providerID: 'kind://docker/x/y', ready: 'Unknown' });
    world.cluster.register('kind-tainted', { providerID: 'kind://docker/x/z', ready: 'False' });
    world.cluster.register('elsewhere', { tainted: false, providerID: 'simulated://sim-9/i-1', ready: 'Unknown' });
    world.cluster.register('schemeless', {
      tainted: false,
      providerID: 'i-0123',
      ready: 'Unknown',
      taints: [shutdown],
    });
    for (const name of ['kind', 'elsewhere', 'bare-metal']) {
      const vm = world.cloud.model.create({ name });
      world.cluster.setReady(name, 'Unknown');
      replica.report(name, { instance: reportedOf(vm), leaving: true });
    }
    await world.clock.advance(900_000);
    for (const name of world.cluster.names()) world.cluster.heartbeat(name);
    await world.clock.advance(900_000);
    assert.deepEqual(written(), []);
    assert.equal(world.cluster.names().length, 6);
    assert.equal(world.cloudCalls(), 0);
  });

  it('keeps the dead Nodes of a report-only cloud beside one with an API', async () => {
    await setUp({ clouds: [{ region: 'sim-1' }, { reportOnly: 'other' }] });
    world.cluster.register('r', { ready: 'True' });
    const instance = { cloud: 'other', id: 'x-1', providerID: 'other://x-1', addresses: [] };
    replica.report('r', { instance });
    await fleet(world, 2);
    assert.equal(world.cluster.mustNode('r').spec.providerID, 'other://x-1');
    assert.equal(world.cluster.mustNode('r').metadata.annotations?.[annotations.instance], 'report:other');
    replica.report('r', { instance, leaving: true });
    world.cluster.setReady('r', 'Unknown');
    replica.kube.forgetCalls();
    await world.clock.advance(1_800_000);
    assert.deepEqual(written(), []);
    assert.notEqual(world.cluster.node('r'), undefined);
  });
});
