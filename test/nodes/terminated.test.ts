import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { deletions, secondsUntil } from './harness/fleet.ts';
import { fleetStage } from './harness/fleet-stage.ts';
import { providerID, reportedOf } from './harness/world.ts';

describe('a Node whose VM the cloud shows terminated', () => {
  const start = fleetStage();

  it('deletes a Node once its lease has run out after an orderly end that its agent announced', async () => {
    const { world, replica, first, exists, terminate } = await start();
    replica.report('n0', { instance: reportedOf(first.vm) });
    await world.clock.advance(30_000);
    replica.report('n0', { instance: reportedOf(first.vm), leaving: true });
    await world.clock.advance(3000);
    world.cluster.setReady('n0', 'False');
    await world.clock.advance(2000);
    terminate(first);
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds <= 40, `${seconds} s`);
    assert.deepEqual(deletions(replica), ['n0']);
  });

  it('deletes a Node once its lease has run out even while it is still shown Ready', async () => {
    const { world, replica, first, exists, terminate } = await start();
    replica.report('n0', { instance: reportedOf(first.vm), leaving: true });
    await world.clock.advance(2000);
    terminate(first);
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds <= 40, `${seconds} s`);
  });

  it('deletes a Node within 20 s of NotReady when the machine just died', async () => {
    const { world, first, exists, terminate } = await start();
    terminate(first);
    const notReady = await secondsUntil(world, () => world.cluster.condition('n0', 'Ready')?.status !== 'True');
    assert.ok(notReady <= 60);
    const seconds = await secondsUntil(world, () => !exists('n0'));
    assert.ok(seconds <= 20, `${seconds} s`);
  });

  it('deletes a young Node of a terminated VM, too, without five minutes of waiting', async () => {
    const { world, first, exists, terminate } = await start(4, {}, 60);
    terminate(first);
    assert.ok((await secondsUntil(world, () => !exists('n0'))) <= 75);
  });

  for (const [how, deleted] of [
    ['terminate', true],
    ['forget', false],
  ] as const) {
    it(`${deleted ? 'deletes a Node' : 'keeps a Node whose VM is absent'} before it was initialised`, async () => {
      const { world, replica, exists, reason } = await start();
      await replica.stopLeading();
      const vm = world.cloud.model.create({ name: 'spot' });
      world.cluster.register('spot', { providerID: providerID(vm) });
      const kubelet = world.cluster.kubelet('spot');
      await world.clock.advance(20_000);
      kubelet.die();
      world.cloud.model[how](vm.id);
      await replica.start();
      await world.clock.advance(30_000);
      assert.equal(exists('spot'), true, 'not silent for long enough');
      await world.clock.advance(600_000);
      assert.deepEqual([exists('spot'), reason('spot')], deleted ? [false, undefined] : [true, 'NeverFound']);
      assert.equal(world.lease.annotations[annotations.deletionLedger] !== undefined, deleted, 'within the budget');
    });
  }

  it('takes no budget from others, and is not deleted young, when it registers again and again', async () => {
    const { world, members, exists, vanish } = await start(30);
    const vm = world.cloud.model.create({ name: 'rogue' });
    world.cloud.model.terminate(vm.id);
    vanish(members[0]!);
    let registered = 0;
    for (let second = 0; second < 600; second += 1) {
      if (!exists('rogue')) {
        world.cluster.register('rogue', { providerID: providerID(vm), ready: 'False' });
        registered += 1;
      }
      await world.clock.advance(1000);
    }
    assert.equal(exists(members[0]!.name), false);
    assert.ok(registered >= 2 && registered <= 3, `registered ${registered} times`);
    assert.match(world.lease.annotations[annotations.deletionLedger] ?? '', /^(d\d+x1,j|j\d+x1,d)/);
  });

  it('keeps a Node of a terminated VM while it renews its lease', async () => {
    const { world, replica, first, exists, reason } = await start();
    world.cloud.model.terminate(first.vm.id);
    world.cluster.setReady('n0', 'Unknown');
    await world.clock.advance(600_000);
    assert.equal(exists('n0'), true);
    assert.equal(reason('n0'), 'SignOfLife');
    assert.equal(
      replica.events.filter(({ node, reason: why }) => node === 'n0' && why === 'DeletionWithheld').length,
      1,
    );
  });

  it('keeps a Node of a terminated VM while its agent reports', async () => {
    const { world, replica, first, exists, terminate } = await start();
    terminate(first);
    for (let minute = 0; minute < 40; minute += 1) {
      replica.report('n0', { instance: reportedOf(first.vm) });
      await world.clock.advance(15_000);
    }
    assert.equal(exists('n0'), true);
  });

  it('deletes a Node with its UID and resourceVersion as preconditions, and an event has the evidence', async () => {
    const { world, replica, first, exists, terminate } = await start();
    const uid = world.cluster.mustNode('n0').metadata.uid;
    terminate(first);
    await secondsUntil(world, () => !exists('n0'));
    const call = replica.kube.calls.find(({ verb }) => verb === 'delete');
    assert.ok(call);
    const { preconditions } = call.body as { preconditions: { uid: string; resourceVersion: string } };
    assert.equal(preconditions.uid, uid);
    assert.match(preconditions.resourceVersion, /^\d+$/);
    const event = replica.events.find(({ reason: why }) => why === 'DeletingNode');
    assert.match(event?.message ?? '', /terminated/);
    assert.equal(await replica.gauge('mooring_node_deletions_total', '{evidence="gone"}'), 1);
  });
});
