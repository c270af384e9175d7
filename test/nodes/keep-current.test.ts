import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { annotations, conditions, labels } from '../../common/well-known.ts';
import { fleet } from './harness/fleet.ts';
import { providerID, type Replica, reportedOf, type World } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

const minutes = (count: number) => count * 60_000;

describe('updates of an initialised Node', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;
  beforeEach(async () => {
    ({ world, replica } = begin());
    await replica.start();
  });

  const label = (name: string, key: string) => world.cluster.mustNode(name).metadata.labels?.[key];
  const shown = (name: string) => world.cluster.condition(name, conditions.cloudInitialized);
  const setLabel = (name: string, key: string, value: string | null) =>
    world.cluster.mergePatch(name, { metadata: { labels: { [key]: value } } });

  it('updates the stable and the beta label of its type with the cloud', async () => {
    const [member] = await fleet(world, 1);
    world.cloud.model.setType(member!.vm.id, 'sim.huge');
    await world.clock.advance(minutes(6));
    assert.equal(label('n0', labels.instanceType), 'sim.huge');
    assert.equal(label('n0', labels.instanceTypeBeta), 'sim.huge');
  });

  it('keeps a type that a person set, whatever the cloud says', async () => {
    const [member] = await fleet(world, 1);
    setLabel('n0', labels.instanceType, 'my-type');
    await world.clock.advance(minutes(6));
    world.cloud.model.setType(member!.vm.id, 'sim.huge');
    await world.clock.advance(minutes(11));
    assert.equal(label('n0', labels.instanceType), 'my-type');
  });

  it('writes zone and region once, and reports a VM that moved once as TopologyDrift', async () => {
    const [member] = await fleet(world, 1);
    const zone = label('n0', labels.zone);
    for (const key of [labels.zoneBeta, labels.zone]) setLabel('n0', key, 'sim-1z');
    await world.clock.advance(minutes(11));
    assert.equal(label('n0', labels.zone), 'sim-1z');
    assert.equal(shown('n0')?.status, 'True');
    assert.equal(shown('n0')?.reason, 'TopologyDrift');
    assert.match(shown('n0')?.message ?? '', /sim-1z/);
    world.cloud.model.setType(member!.vm.id, 'sim.huge');
    await world.clock.advance(minutes(11));
    assert.equal(replica.events.filter(({ reason }) => reason === 'TopologyDrift').length, 1);
    setLabel('n0', labels.zoneBeta, zone ?? null);
    await world.clock.advance(minutes(1));
    assert.equal(label('n0', labels.zone), zone);
    assert.equal(shown('n0')?.reason, 'Initialized');
  });

  it('sets a changed stable zone back to the beta label, as upstream does, without drift', async () => {
    await fleet(world, 1);
    const zone = label('n0', labels.zone);
    setLabel('n0', labels.zone, 'sim-1z');
    await world.clock.advance(minutes(1));
    assert.equal(label('n0', labels.zone), zone);
    assert.equal(shown('n0')?.reason, 'Initialized');
  });

  it('restores a removed label without a cloud call', async () => {
    await fleet(world, 1);
    const zone = label('n0', labels.zone);
    const calls = world.cloudCalls();
    setLabel('n0', labels.zone, null);
    await world.clock.advance(1000);
    assert.equal(label('n0', labels.zone), zone);
    assert.equal(world.cloudCalls(), calls);
  });

  it('adds other labels of the cloud, drops reserved namespaces, and keeps values that differ', async () => {
    const vm = world.cloud.model.create({
      name: 'a',
      tags: {
        'label:my.custom.label/foo': 'bar',
        'label:app.k8snio/x': 'kept',
        'label:kubernetes.io/x': 'no',
        'label:sub.k8s.io/x': 'no',
        'label:example.com/held': 'cloud',
        other: 'no label',
      },
    });
    world.cluster.register('a', { systemUuid: vm.smbiosUuid ?? '', labels: { 'example.com/held': 'person' } });
    await world.clock.advance(1000);
    assert.equal(label('a', 'my.custom.label/foo'), 'bar');
    assert.equal(label('a', 'app.k8snio/x'), 'kept');
    assert.equal(label('a', 'kubernetes.io/x'), undefined);
    assert.equal(label('a', 'sub.k8s.io/x'), undefined);
    assert.equal(label('a', 'example.com/held'), 'person');
    assert.ok(vm);
  });

  it('adopts a Node of another controller: adds record and condition, removes nothing', async () => {
    const vm = world.cloud.model.create({ name: 'adopted' });
    const own = {
      [labels.zone]: vm.zone,
      [labels.region]: vm.region,
      [labels.instanceType]: vm.type,
      'example.com/own': 'x',
    };
    world.cluster.register('adopted', {
      tainted: false,
      providerID: providerID(vm),
      systemUuid: vm.smbiosUuid ?? '',
      labels: own,
      addresses: reportedOf(vm).addresses,
    });
    await world.clock.advance(minutes(6));
    const node = world.cluster.mustNode('adopted');
    assert.equal(node.metadata.annotations?.[annotations.instance], `${world.scope} ${vm.incarnation}`);
    for (const [key, value] of Object.entries(own)) assert.equal(node.metadata.labels?.[key], value);
    assert.equal(shown('adopted')?.reason, 'Initialized');
  });

  it('never deletes an adopted Node whose VM was never found here', async () => {
    world.cluster.register('adopted', { tainted: false, providerID: 'simulated://sim-1/i-gone', ready: 'Unknown' });
    await fleet(world, 2);
    await world.clock.advance(minutes(30));
    assert.notEqual(world.cluster.node('adopted'), undefined);
    assert.equal(world.cluster.condition('adopted', 'CloudInstanceMissing')?.reason, 'NeverFound');
  });

  it('rewrites the record of another endpoint of the same account once the VM is found', async () => {
    const [member] = await fleet(world, 1);
    world.cluster.mergePatch('n0', {
      metadata: { annotations: { [annotations.instance]: `http://old-name/demo/sim-1 ${member!.vm.incarnation}` } },
    });
    await world.clock.advance(minutes(6));
    assert.equal(
      world.cluster.mustNode('n0').metadata.annotations?.[annotations.instance],
      `${world.scope} ${member!.vm.incarnation}`,
    );
  });
});
