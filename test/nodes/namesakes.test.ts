import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditions, taints } from '../../common/well-known.ts';
import { providerID, type Replica, reportedOf, type World, type WorldOptions } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

describe('a Node without providerID whose name an instance has', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;

  async function setUp(options: WorldOptions = {}): Promise<void> {
    ({ world, replica } = begin(options));
    await replica.start();
  }
  const reason = (name: string) => world.cluster.condition(name, conditions.cloudInitialized)?.reason;
  const tainted = (name: string) => world.cluster.hasTaint(name, taints.uninitialized);

  it('waits while neither a report nor an SMBIOS UUID proves that the instance is its machine', async () => {
    await setUp();
    world.cloud.model.create({ name: 'told-by-none', smbiosUuid: null });
    world.cloud.model.create({ name: 'kubelet-is-silent' });
    for (const name of ['told-by-none', 'kubelet-is-silent']) world.cluster.register(name);
    await world.clock.advance(120_000);
    for (const name of ['told-by-none', 'kubelet-is-silent']) {
      assert.deepEqual([reason(name), tainted(name)], ['AwaitingReport', true], name);
      assert.match(
        world.cluster.condition(name, conditions.cloudInitialized)?.message ?? '',
        /--bind-by-name=simulated/,
      );
      assert.equal(world.cluster.mustNode(name).spec.providerID, undefined);
    }
  });

  it('binds a Node without an agent when the SMBIOS UUIDs agree', async () => {
    await setUp();
    const vm = world.join('a');
    await world.clock.advance(1000);
    assert.equal(world.cluster.mustNode('a').spec.providerID, providerID(vm));
  });

  it('binds a Node as soon as a report names the instance', async () => {
    await setUp();
    const vm = world.cloud.model.create({ name: 'a', smbiosUuid: null });
    world.cluster.register('a');
    await world.clock.advance(10_000);
    assert.equal(tainted('a'), true);
    replica.report('a', { instance: reportedOf(vm) });
    await world.clock.advance(1000);
    assert.equal(world.cluster.mustNode('a').spec.providerID, providerID(vm));
  });

  it('binds a Node by its name alone where the operator allows it, but never against the SMBIOS UUID', async () => {
    await setUp({ clouds: [{ bindsByName: true }] });
    const vm = world.cloud.model.create({ name: 'plain', smbiosUuid: null });
    world.cloud.model.create({ name: 'contradicted' });
    world.cluster.register('plain');
    world.cluster.register('contradicted', { systemUuid: '99999999-2222-4333-8444-555555555555' });
    await world.clock.advance(10_000);
    assert.equal(world.cluster.mustNode('plain').spec.providerID, providerID(vm));
    assert.deepEqual([reason('contradicted'), tainted('contradicted')], ['IdentityConflict', true]);
  });

  it('keeps a Node when the instance of its name ends while its own kubelet restarts', async () => {
    await setUp();
    const namesake = world.cloud.model.create({ name: 'a', smbiosUuid: null });
    const uid = world.cluster.register('a').metadata.uid;
    const before = world.cluster.kubelet('a');
    await world.clock.advance(600_000);
    before.die();
    world.cloud.model.terminate(namesake.id);
    world.cluster.setReady('a', 'False');
    await world.clock.advance(45_000);
    world.cluster.kubelet('a');
    world.cluster.setReady('a', 'True');
    await world.clock.advance(600_000);
    assert.equal(world.cluster.node('a')?.metadata.uid, uid);
  });
});
